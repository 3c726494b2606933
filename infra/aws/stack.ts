import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { api } from "./api.ts";
import { readSettings } from "./settings.ts";
import { storage } from "./storage.ts";

/** The whole system on one screen. `bundles` is the directory that holds the bundled functions. */
export const patchbay = (app: Construct, bundles: string, props: StackProps = {}): Stack => {
  const settings = readSettings(app.node);
  const stack = new Stack(app, settings.stackName, {
    description: "Patchbay: attachments of number orders, and messaging switches",
    terminationProtection: settings.production,
    ...props,
  });

  const kept = storage(stack, settings);
  const surroundings = { settings, storage: kept, bundles };
  const { rest } = api(stack, surroundings);

  const outputs = {
    BaseUrl: rest.url.replace(/\/$/, ""),
    TableName: kept.table.tableName,
    BucketName: kept.bucket.bucketName,
  };
  for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
  return stack;
};
