import { Aws, Duration, Fn, type Stack } from "aws-cdk-lib";
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault } from "aws-cdk-lib/aws-backup";
import { Schedule } from "aws-cdk-lib/aws-events";
import type { Topic } from "aws-cdk-lib/aws-sns";
import { acknowledge } from "./acknowledge.ts";
import type { Deployment } from "./function.ts";
import { report } from "./operations.ts";

/** Backs the table up every day, and copies each backup to the vault of the stack's name in another region. */
export const createBackups = (stack: Stack, deployment: Deployment, topic: Topic, region: string) => {
  const { settings, storage } = deployment;
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
  // A copy can fail while its backup succeeds, and neither has a metric for one table.
  report(deployment, topic, "FailedBackup", {
    description: "Reports a backup of the table, or its copy to the other region, that failed",
    eventPattern: {
      source: ["aws.backup"],
      detailType: ["Backup Job State Change", "Copy Job State Change"],
      detail: { state: ["FAILED", "ABORTED", "EXPIRED"], resourceArn: [storage.table.tableArn] },
    },
  });
};
