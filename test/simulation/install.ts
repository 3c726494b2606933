import crypto from "node:crypto";
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers";
import promises from "node:timers/promises";
import { S3Client } from "@aws-sdk/client-s3";
import { SFNClient } from "@aws-sdk/client-sfn";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { addressOf, carrierNameOf, isCarrierAdapted, isOfLaterRelease, requestCarrier } from "./carrier.ts";
import { sendToS3 } from "./files.ts";
import { sendToStepFunctions } from "./people.ts";
import { sendToTable } from "./table.ts";
import { after, as, breakPromise, chance, clock, currentTask, describe, elapsed, numbered, pass } from "./world.ts";

/** Replaces the clocks, timers, randomness and clients of the whole process with those of the simulation. */

const RealDate = Date;
class VirtualDate extends RealDate {
  constructor(...values: [] | [number | string]) {
    super(values[0] ?? clock());
  }
  static override now() {
    return clock();
  }
}

const setTimeout = (act: () => void, ms = 0) => {
  const task = currentTask();
  const timer = { event: after(ms, () => as(task, act)), unref: () => timer };
  return timer;
};
const clearTimeout = (timer: { event: { isCancelled: boolean } } | undefined) => {
  if (timer) timer.event.isCancelled = true;
};

const randomUUID = () => {
  const named = numbered("uuid");
  const digits = (part: number) =>
    Math.floor(chance(`${named} ${part}`) * 2 ** 32)
      .toString(16)
      .padStart(8, "0");
  const [second, third] = [digits(2), digits(3)];
  return `${digits(1)}-${second.slice(0, 4)}-4${second.slice(5)}-8${third.slice(1, 4)}-${third.slice(4)}${digits(4)}`;
};
const randomByte = () => Math.floor(chance(numbered("bytes")) * 256);

const abortAfter = (ms: number): AbortSignal => {
  const controller = new AbortController();
  after(ms, () => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")));
  return controller.signal;
};

const suffix = () => (addressOf(currentTask()) === 1 ? "-2" : "");

const environment = {
  AWS_ACCESS_KEY_ID: "simulated",
  AWS_SECRET_ACCESS_KEY: "simulated",
  AWS_REGION: "us-east-1",
  AWS_ENDPOINT_URL_DYNAMODB: "http://table",
  AWS_ENDPOINT_URL_S3: "http://files",
  TABLE_NAME: "simulated",
  BUCKET_NAME: "simulated",
  /** An invocation keeps the address with which it was started. */
  get CARRIER_URL() {
    return `http://carrier${suffix()}`;
  },
  get CARRIER_FUNCTION() {
    return isCarrierAdapted() ? `adapter${suffix()}` : "";
  },
  get CARRIER_NAME() {
    return carrierNameOf(currentTask());
  },
  get SENDS_MORE() {
    return isOfLaterRelease(currentTask()) ? "yes" : "";
  },
  CARRIER_TOKEN: "simulated-carrier",
  STATE_MACHINE_ARN: "arn:aws:states:us-east-1:000000000000:stateMachine:checkout",
  LOG_LEVEL: "ERROR",
};

export const install = (): void => {
  // An object of its own is much faster to read than that of Node.
  const { CARRIER_URL: _, CARRIER_FUNCTION: __, CARRIER_NAME: ___, SENDS_MORE: ____, ...inherited } = process.env;
  const value = Object.defineProperties(inherited, Object.getOwnPropertyDescriptors(environment));
  Object.defineProperty(process, "env", { value });
  Object.assign(globalThis, { Date: VirtualDate, setTimeout, clearTimeout });
  Object.assign(timers, { setTimeout, clearTimeout });
  Object.assign(promises, { setTimeout: (ms: number, value?: unknown) => pass(ms).then(() => value) });
  Object.assign(performance, { now: elapsed });
  Object.assign(Math, { random: () => chance(numbered("random")) });
  Object.assign(crypto, {
    randomInt: (most: number) => Math.floor(chance(numbered("id")) * most),
    randomUUID,
    randomBytes: (length: number) => Buffer.from(Array.from({ length }, randomByte)),
  });
  Object.assign(http, { request: requestCarrier });
  Object.assign(https, { request: requestCarrier });
  Object.assign(AbortSignal, { timeout: abortAfter });
  syncBuiltinESMExports();
  Object.assign(DynamoDBDocumentClient.prototype, { send: sendToTable });
  Object.assign(S3Client.prototype, { send: sendToS3 });
  Object.assign(SFNClient.prototype, { send: sendToStepFunctions });
  process.on("unhandledRejection", (error) => breakPromise("no defect", `nobody handles ${describe(error)}`));
  // Discards the output of commands, and the counts of the sweep.
  console.log = () => {};
  process.stdout.write = () => true;
};
