import { setTimeout as sleep } from "node:timers/promises";
import { ContinuousBackupsUnavailableException, DynamoDB, ResourceNotFoundException } from "@aws-sdk/client-dynamodb";
import { type Command, InvalidArgumentError } from "commander";
import { clientSettings } from "../../../shared/deadline.ts";
import { env } from "../../../shared/env.ts";
import { directTo } from "../../local/environment.ts";
import { CommandError, UsageError } from "../cli/command-errors.ts";
import { type Format, printJson } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { findProblems, printProblems } from "./check.ts";

/**
 * The command of "Restore" in infra/runbook.md. Each step first checks whether it is done, so repeating the command continues it.
 */

const client = new DynamoDB(clientSettings(10_000));

const describe = async (TableName: string) => {
  try {
    return (await client.describeTable({ TableName })).Table;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
};

const existing = async (name: string) => {
  const table = await describe(name);
  if (!table) throw new CommandError(`There is no table ${name} in this account and region.`);
  return table;
};

/** 95 % of restores take less than an hour. The largest tables take longer. */
const maxHours = 24;

const waitFor = async <T>(what: string, pollSeconds: number, ask: () => Promise<T | undefined>): Promise<T> => {
  const polls = Math.ceil((maxHours * 3600) / pollSeconds);
  for (let poll = 0; poll < polls; poll += 1) {
    const found = await ask();
    if (found !== undefined) return found;
    await sleep(pollSeconds * 1000);
  }
  throw new CommandError(`${what} has not ended within ${maxHours} hours. To keep waiting, repeat the command.`);
};

const active = (name: string, pollSeconds: number) =>
  waitFor(`The change of ${name}`, pollSeconds, async () => {
    // DynamoDB may not find a table that it has just started to create.
    const table = await describe(name);
    return table?.TableStatus === "ACTIVE" ? table : undefined;
  });

/** `patchbay-20261121T120000Z` */
const nameAt = (source: string, to: Date) => `${source}-${to.toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;

/** Starts the restore, unless the target is already its result. Throws if the target is any other table. */
const startRestore = async (source: string, target: string, to: Date): Promise<void> => {
  const { TableArn, OnDemandThroughput } = await existing(source);
  const found = await describe(target);
  if (!found) {
    await client.restoreTableToPointInTime({
      SourceTableName: source,
      TargetTableName: target,
      RestoreDateTime: to,
      ...(OnDemandThroughput && { OnDemandThroughputOverride: OnDemandThroughput }),
    });
    return;
  }
  const { SourceTableArn, RestoreDateTime } = found.RestoreSummary ?? {};
  if (SourceTableArn !== TableArn || RestoreDateTime?.getTime() !== to.getTime())
    throw new CommandError(
      `The table ${target} exists and is not a copy of ${source} at this time: choose another --as.`,
    );
};

/** Applies settings that a restored table lacks. DynamoDB refuses an UpdateTable while another one is in progress. */
const configure = async (source: string, TableName: string, pollSeconds: number): Promise<void> => {
  const { TableArn, DeletionProtectionEnabled, StreamSpecification } = await active(TableName, pollSeconds);
  const { TimeToLiveDescription } = await client.describeTimeToLive({ TableName });
  const TimeToLiveSpecification = { Enabled: true, AttributeName: "expires_at" };
  if (!TimeToLiveDescription?.TimeToLiveStatus?.startsWith("ENABL"))
    await client.updateTimeToLive({ TableName, TimeToLiveSpecification });
  await waitFor("Turning on point-in-time recovery", pollSeconds, () => enablePointInTimeRecovery(TableName));
  if (!DeletionProtectionEnabled) await client.updateTable({ TableName, DeletionProtectionEnabled: true });
  await active(TableName, pollSeconds);
  const stream = { StreamEnabled: true, StreamViewType: "NEW_IMAGE" } as const;
  if (!StreamSpecification?.StreamEnabled) await client.updateTable({ TableName, StreamSpecification: stream });
  await active(TableName, pollSeconds);
  const { TableArn: ResourceArn } = await existing(source);
  const { Tags = [] } = await client.listTagsOfResource({ ResourceArn });
  // AWS sets tags that begin with aws: itself, and rejects requests that contain them.
  const own = Tags.filter(({ Key }) => !Key?.startsWith("aws:"));
  if (own.length > 0) await client.tagResource({ ResourceArn: TableArn, Tags: own });
};

/** Returns undefined while the new table does not support it yet. */
const enablePointInTimeRecovery = async (TableName: string): Promise<true | undefined> => {
  const { ContinuousBackupsDescription: backups } = await client.describeContinuousBackups({ TableName });
  if (backups?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus === "ENABLED") return true;
  const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
  try {
    await client.updateContinuousBackups({ TableName, PointInTimeRecoverySpecification });
    return true;
  } catch (error) {
    if (error instanceof ContinuousBackupsUnavailableException) return undefined;
    throw error;
  }
};

const time = (text: string): Date => {
  const date = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d.*Z$/.test(text) || Number.isNaN(date.getTime()))
    throw new InvalidArgumentError("It must be a time in UTC, such as 2026-11-21T12:00:00Z.");
  return date;
};

const seconds = (text: string): number => {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("It must be a whole number of seconds.");
  return Number(text);
};

const restore = async ({ to, as, poll, json }: Format & { to?: Date; as?: string; poll: number }): Promise<void> => {
  const source = env.tableName();
  const target = as ?? (to && nameAt(source, to));
  if (!target) throw new UsageError("Specify --to <time>, or --as <table> to continue with a restored table.");
  if (target === source) throw new UsageError("--as must differ from the table in service.");
  if (to) await startRestore(source, target, to);
  else await existing(target);
  await withProgress(() => active(target, poll), `Restoring ${target} …`);
  await withProgress(() => configure(source, target, poll), `Changing the settings of ${target} …`);
  directTo({ TABLE_NAME: target });
  const findings = await findProblems();
  const settings = { restoredTable: target };
  if (json) return printJson({ settings, findings });
  printProblems(findings, { json });
  console.log(
    "To put the table into service, follow infra/runbook.md: deploy with --import-existing-resources and, in the stage's file,",
  );
  printJson(settings);
};

export const addRestoreCommand = (program: Command): void => {
  program
    .command("restore")
    .description("restore the table to a point in time as a new table, with its settings and tags, and check it")
    .option("--to <time>", "the point in time, in UTC, within the last 35 days", time)
    .option("--as <table>", "the name of the new table (default: the table's, with the time)")
    .option("--poll <seconds>", "how often to ask whether a change has ended", seconds, 10)
    .addHelpText(
      "after",
      "\nChanges nothing in the table that is in service. If it is interrupted, repeat it: it continues. With --as alone, it continues\nwith a table that is already restored.",
    )
    .action(restore);
};
