import { devNull } from "node:os";
import type { DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { mapped } from "../../shared/schema/fields.ts";

/** The region, the credentials and the settings with which the local stack, and programs that use it, call its services. */

const own = {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
  AWS_SESSION_TOKEN: "",
  AWS_PROFILE: "",
};

/** The SDK refuses a given address together with one of these, and with the last one, it ignores the address and calls AWS. */
const addressesAsGiven = {
  AWS_USE_FIPS_ENDPOINT: "false",
  AWS_USE_DUALSTACK_ENDPOINT: "false",
  AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: "false",
};

/**
 * The embedded S3 accepts only the local stack's own credentials. The shell's are for AWS, so they are used only if the shell also
 * names a DynamoDB or an S3. The files with AWS settings are read only for a profile that is used.
 */
export const awsVariables = (shell: NodeJS.ProcessEnv): Readonly<Record<string, string>> => {
  const isGiven = Boolean(shell.AWS_ENDPOINT_URL_DYNAMODB || shell.AWS_ENDPOINT_URL_S3);
  const used = mapped(own, (value, name) => (isGiven && shell[name]) || value);
  const noFiles = { AWS_CONFIG_FILE: devNull, AWS_SHARED_CREDENTIALS_FILE: devNull };
  return { ...used, ...addressesAsGiven, ...(used.AWS_PROFILE === "" && noFiles) };
};

/** The part of a client's configuration that has the same meaning as the variables. A profile's credentials are left to the SDK. */
export type AwsAccess = Pick<
  DynamoDBClientConfig,
  "region" | "credentials" | "useFipsEndpoint" | "useDualstackEndpoint"
>;

export const awsAccess = (variables: Readonly<Record<string, string>>): AwsAccess => {
  const {
    AWS_REGION = "",
    AWS_ACCESS_KEY_ID = "",
    AWS_SECRET_ACCESS_KEY = "",
    AWS_SESSION_TOKEN,
    AWS_PROFILE,
  } = variables;
  const credentials = {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
  };
  return {
    region: AWS_REGION,
    useFipsEndpoint: false,
    useDualstackEndpoint: false,
    ...(!AWS_PROFILE && { credentials }),
  };
};
