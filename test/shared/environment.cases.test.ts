import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { stepHandler } from "../../shared/checkout/step-handler.ts";
import { beginStep } from "../../shared/checkout/steps.ts";
import { env } from "../../shared/env.ts";
import { emitCounts, log } from "../../shared/log.ts";
import { showSwitchRoute } from "../../shared/switches/routes.ts";
import { invoke } from "../support/requests/event.ts";
import { captureLogs } from "../support/servers/captured-logs.ts";

/** The environment variables that functions read, and the logs that they write. */

afterEach(() => void vi.unstubAllEnvs());

describe("the environment variable", () => {
  it("LOG_LEVEL is one of five, and MAX_UPLOAD_BYTES lowers a limit only", () => {
    vi.stubEnv("LOG_LEVEL", undefined);
    expect(env.logLevel()).toBe("INFO");
    vi.stubEnv("LOG_LEVEL", "WARN");
    expect(env.logLevel()).toBe("WARN");
    vi.stubEnv("LOG_LEVEL", "TRACE");
    expect(env.logLevel).toThrow("LOG_LEVEL must be one of DEBUG, INFO, WARN, ERROR, SILENT, not TRACE.");
    vi.stubEnv("MAX_UPLOAD_BYTES", "104857601");
    expect(env.maxUploadBytes()).toBe(104_857_600);
  });

  it.each([
    ["TABLE_NAME", env.tableName],
    ["BUCKET_NAME", env.bucketName],
    ["CARRIER_URL", env.carrierUrl],
    ["EVENT_BUS_NAME", env.eventBusName],
    ["DEAD_LETTERS_URL", env.deadLettersUrl],
    ["STATE_MACHINE_ARN", env.stateMachineArn],
  ])("%s must be set", (name, read) => {
    vi.stubEnv(name, "x");
    expect(read()).toBe("x");
    for (const value of ["", undefined]) {
      vi.stubEnv(name, value);
      expect(read).toThrow(`The environment variable ${name} is not set.`);
    }
  });

  it.each([
    ["CARRIER_TIMEOUT_MS", env.carrierTimeoutMs, 30_000],
    ["CARRIER_MAX_WAIT_SECONDS", env.carrierMaxWaitSeconds, 900],
    ["MAX_FILE_BYTES", env.maxFileBytes, 4_600_000],
    ["MAX_UPLOAD_BYTES", env.maxUploadBytes, 104_857_600],
  ])("%s is a whole number", (name, read, fallback) => {
    vi.stubEnv(name, undefined);
    expect(read()).toBe(fallback);
    vi.stubEnv(name, "15");
    expect(read()).toBe(15);
    for (const value of ["-1", "1.5", "x1", "1x", "1".repeat(16)]) {
      vi.stubEnv(name, value);
      expect(read, value).toThrow(new RegExp(`${name} must be a whole number up to \\d+, not ${value}\\.`));
    }
  });

  it.each<[string, () => unknown, unknown, unknown?]>([
    ["MALWARE_SCAN", env.malwareScan, false, true],
    ["CARRIER_FUNCTION", env.carrierFunction, undefined],
    ["CARRIER_TOKEN", env.carrierToken, undefined],
    ["CARRIER_SECRET_ARN", env.carrierSecretArn, undefined],
    ["OPERATOR", env.operator, "local"],
    ["_X_AMZN_TRACE_ID", env.traceId, undefined],
  ])("%s may be set", (name, read, fallback, set = "x") => {
    vi.stubEnv(name, "");
    expect(read()).toBe(fallback);
    vi.stubEnv(name, "x");
    expect(read()).toBe(set);
  });

  it.each([
    [undefined, undefined, false, "https://lambda.eu-west-1.amazonaws.com"],
    ["http://all", undefined, true, "http://all"],
    [undefined, "http://own", true, "http://own"],
    ["http://all", "http://own", true, "http://own"],
  ])("AWS_ENDPOINT_URL is %s, and that of a service %s: %s %s", (all, own, hasS3, lambda) => {
    vi.stubEnv("AWS_ENDPOINT_URL", all);
    for (const service of ["S3", "LAMBDA"]) vi.stubEnv(`AWS_ENDPOINT_URL_${service}`, own);
    expect([env.hasS3Endpoint(), env.lambdaEndpoint("eu-west-1")]).toEqual([hasS3, lambda]);
  });
});

describe("the log", () => {
  let logs: ReturnType<typeof captureLogs>;
  beforeEach(() => {
    logs = captureLogs();
    vi.useFakeTimers({ toFake: ["Date"], now: 5_000 });
  });
  afterEach(() => {
    logs.stop();
    vi.useRealTimers();
  });

  const stack = "at file:///other.js:1:2";
  it.each<[string, object, object]>([
    ["its call and its attempts", { call: "s3 PutObject", attempts: 2 }, { call: "s3 PutObject", attempts: 2 }],
    ["no call and no attempts", { call: 1, attempts: "2" }, {}],
    [
      "its cause",
      { cause: Object.assign(new TypeError("b"), { stack }) },
      { cause: { name: "TypeError", message: "b", stack } },
    ],
    ["a cause that is no error", { cause: "b" }, {}],
    ["no stack", { stack: undefined }, { stack: undefined }],
  ])("has an error with %s", (_, properties, logged) => {
    log.error("failed", { error: Object.assign(new Error("a"), { stack }, properties) });
    const line = { level: "ERROR", message: "failed", timestamp: "1970-01-01T00:00:05.000Z", service: "patchbay" };
    expect(logs.lines()).toEqual([{ ...line, error: { name: "Error", message: "a", stack, ...logged } }]);
  });

  it("has lines of its level or above, with the trace", () => {
    vi.stubEnv("_X_AMZN_TRACE_ID", "Root=1");
    const written = (level: string) => {
      vi.stubEnv("LOG_LEVEL", level);
      logs.written.length = 0;
      log.info("one", {});
      log.error("two", {});
      return logs.lines().map(({ message, xray_trace_id }) => `${message} ${xray_trace_id}`);
    };
    expect(["DEBUG", "INFO", "WARN", "ERROR", "SILENT"].map(written)).toEqual([
      ["one Root=1", "two Root=1"],
      ["one Root=1", "two Root=1"],
      ["two Root=1"],
      ["two Root=1"],
      [],
    ]);
  });

  it("has counts as the metrics of a function", () => {
    emitCounts({ Files: 3, Days: 0 }, new Date(5_000), "sweep");
    const Metrics = [
      { Name: "Files", Unit: "Count" },
      { Name: "Days", Unit: "Count" },
    ];
    const CloudWatchMetrics = [{ Namespace: "Patchbay", Dimensions: [["FunctionName"]], Metrics }];
    const line = { _aws: { Timestamp: 5_000, CloudWatchMetrics }, FunctionName: "sweep", Files: 3, Days: 0 };
    expect(logs.lines()).toEqual([line]);
  });

  it("has one line for a request, which is also its metric", async () => {
    await invoke(showSwitchRoute, {});
    const Metrics = [{ Name: "ms", Unit: "Milliseconds" }];
    const CloudWatchMetrics = [{ Namespace: "Patchbay", Dimensions: [["route"]], Metrics }];
    const ids = { request_id: expect.any(String), extended_request_id: expect.any(String), path: {} };
    const line = { level: "INFO", message: "request", timestamp: expect.any(String), service: "patchbay", ...ids };
    const metric = { route: "switches/show", status: 401, ms: 0, _aws: { Timestamp: 5_000, CloudWatchMetrics } };
    expect(logs.lines()).toEqual([{ ...line, ...metric }]);
  });

  it("has of a step its order, its run and its outcome, and nothing else of its state", async () => {
    const State = z.looseObject({ order_id: z.string() });
    const step = stepHandler(beginStep, State, async () => {
      vi.setSystemTime(5_007);
      return { next: "FORWARD", kind: "fault", reason: "secret" };
    });
    await step({ run: "2", started_at: new Date(0).toISOString(), state: { order_id: "1", secret: "3" } });
    const of = { order_id: "1", run: "2", next: "FORWARD", kind: "fault" };
    const line = { level: "INFO", message: "step", timestamp: expect.anything(), service: "patchbay", ...of };
    expect(logs.lines()).toEqual([{ ...line, step: "checkout/begin", ms: 7, _aws: expect.anything() }]);
    const failing = stepHandler(beginStep, State, () => Promise.reject(new Error("a")));
    await expect(
      failing({ run: "2", started_at: new Date(0).toISOString(), state: { order_id: "1" } }),
    ).rejects.toThrow("a");
    const metrics = [{ Dimensions: [["step"]] }, { Dimensions: [["stack"]], Metrics: [{ Name: "Defects" }] }];
    expect(logs.lines()[1]).toMatchObject({ level: "ERROR", _aws: { CloudWatchMetrics: metrics } });
  });
});
