import { Aws, Duration, Fn, type Stack } from "aws-cdk-lib";
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault } from "aws-cdk-lib/aws-backup";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { SnsTopic } from "aws-cdk-lib/aws-events-targets";
import { Topic } from "aws-cdk-lib/aws-sns";
import { acknowledge } from "./acknowledge.ts";
import type { Deployment } from "./function.ts";
import { letPublish } from "./operations.ts";

/** Backs the table up every day, and copies each backup to the vault of the stack's name in another region. */
export const createBackups = (
  stack: Stack,
  { settings, storage, deadLetters }: Deployment,
  topic: Topic,
  region: string,
) => {
  const vault = new BackupVault(stack, "Backups", {
    // Retained if the stack is deleted, so a new stack needs another name.
    backupVaultName: `${settings.stackName}-${Fn.select(0, Fn.split("-", Fn.select(2, Fn.split("/", stack.stackId))))}`,
    encryptionKey: storage.key,
    removalPolicy: settings.removalPolicy,
  });
  const other = `arn:${Aws.PARTITION}:backup:${region}:${Aws.ACCOUNT_ID}:backup-vault:${settings.stackName}`;
  const destinationBackupVault = BackupVault.fromBackupVaultArn(stack, "OtherBackups", other);
  const plan = new BackupPlan(stack, "BackupPlan", {
    backupVault: vault,
    backupPlanRules: [
      new BackupPlanRule({
        ruleName: "daily",
        scheduleExpression: Schedule.cron({ hour: "1", minute: "17" }),
        // Until a copy that failed can have been noticed: each is a full copy, and point-in-time recovery covers more days.
        deleteAfter: Duration.days(2),
        // As long as point-in-time recovery retains what is deleted from the table.
        copyActions: [{ destinationBackupVault, deleteAfter: Duration.days(35) }],
      }),
    ],
  });
  const selection = plan.addSelection("Table", { resources: [BackupResource.fromArn(storage.table.tableArn)] });
  acknowledge(selection, {
    "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup]":
      "AWS Backup's documentation requires this managed policy.",
  });
  letPublish(topic, storage.key, "events");
  // For the stack's own topic, CDK would let the rules of every account publish.
  const reports = Topic.fromTopicArn(stack, "BackupReports", topic.topicArn);
  // A copy can fail while its backup succeeds, and neither has a metric for one table.
  new Rule(stack, "FailedBackup", {
    description: "Reports a backup of the table, or its copy to the other region, that failed",
    eventPattern: {
      source: ["aws.backup"],
      detailType: ["Backup Job State Change", "Copy Job State Change"],
      detail: { state: ["FAILED", "ABORTED", "EXPIRED"], resourceArn: [storage.table.tableArn] },
    },
    targets: [new SnsTopic(reports, { deadLetterQueue: deadLetters })],
  });
};
