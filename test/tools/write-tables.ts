import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { CfnAlarm } from "aws-cdk-lib/aws-cloudwatch";
import * as z from "zod/mini";
import cdk from "../../cdk.json" with { type: "json" };
import { usageOf } from "../../infra/admin/cli/usage.ts";
import { createProgram } from "../../infra/admin/program.ts";
import { allFunctions } from "../../infra/aws/bundle.ts";
import { readSettings, Stage, settingDescriptions } from "../../infra/aws/settings.ts";
import { patchbay } from "../../infra/aws/stack.ts";
import production from "../../infra/aws/stages/production.json" with { type: "json" };
import { parseArguments } from "../../infra/local/command.ts";
import { errorTable } from "../../infra/openapi/error-examples.ts";
import { endBytes } from "../../shared/attachments/files.ts";
import { parentPermissions } from "../../shared/attachments/routes.ts";
import { type Meaning, meanings } from "../../shared/checkout/carrier-responses.ts";
import { defaults, variables } from "../../shared/env.ts";
import { limits } from "../../shared/limits.ts";
import { routes } from "../../shared/routes.ts";

/** `npm run tables` writes the tables that derive from the code into the documents, between their markers. */

const help = `Usage: npm run tables -- [options]

Writes the tables that derive from the code into the documents, between their markers. It keeps the alarms' column "what to do",
which only the runbook has.

  --check  write nothing, and exit with 1 if a table differs from the code
  --help   print this help`;

type Rows = readonly (readonly string[])[];

const code = (value: unknown) => `\`${JSON.stringify(value)}\``;

type Values = Readonly<Record<string, unknown>>;

const settings = (): Rows => {
  const defaults: Values = z.parse(Stage, {});
  const inProduction: Values = { ...defaults, ...production };
  return Object.entries(settingDescriptions).map(([name, text]) => {
    const [byDefault, set] = [defaults, inProduction].map((values) =>
      values[name] === null ? "" : code(values[name]),
    );
    return [`\`${name}\``, byDefault ?? "", set && set !== byDefault ? set : "", text];
  });
};

const environment = (): Rows => {
  const values: Values = defaults;
  const settable = Object.entries(variables).filter(([, text]) => !text.startsWith("set by Lambda"));
  return settable.map(([name, text]) => {
    return [`\`${name}\``, values[name] === undefined ? "" : `\`${values[name]}\``, text];
  });
};

const Periods = z.object({
  period: z.optional(z.int()),
  metrics: z.optional(
    z.array(z.object({ period: z.optional(z.int()), metricStat: z.optional(z.object({ period: z.int() })) })),
  ),
});

/** How long an alarm stays raised after its cause has ended: until too few periods that it looks at are bad. */
const timeToEnd = ({
  stack,
  evaluationPeriods = 1,
  datapointsToAlarm = evaluationPeriods,
  period,
  metrics,
}: CfnAlarm) => {
  const { period: own, metrics: used = [] } = z.parse(Periods, stack.resolve({ period, metrics }));
  const [seconds = 0] = [own, ...used.map((one) => one.period ?? one.metricStat?.period)].filter(
    (one) => one !== undefined,
  );
  const minutes = ((evaluationPeriods - datapointsToAlarm + 1) * seconds) / 60;
  return minutes < 120 ? `${minutes} min` : `${Number((minutes / 60).toFixed(1))} h`;
};

/** The alarms of production, with every option that adds one. The functions' code is empty. */
const alarms = (written: Rows): Rows => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-tables-"));
  for (const { file } of allFunctions) mkdirSync(join(folder, file), { recursive: true });
  const stage = join(folder, "production.json");
  writeFileSync(
    stage,
    JSON.stringify({ ...production, carrierUrl: "https://carrier.example", carrierName: "carrier", malwareScan: true }),
  );
  const app = new App({ context: cdk.context, outdir: join(folder, "out"), treeMetadata: false });
  const { node } = patchbay(app, readSettings({ stage }, undefined), folder);
  rmSync(folder, { recursive: true });
  const found = node.findAll().filter((one) => one instanceof CfnAlarm);
  return [...Map.groupBy(found, ({ alarmDescription = "" }) => alarmDescription)].map(([text, same]) => {
    const names = same.map(({ alarmName = "" }) => `\`${alarmName.split("-").at(-1)}\``).join(", ");
    const [topic = ""] = same.map(
      (one) => /Pages|Tickets/.exec(JSON.stringify(one.stack.resolve(one.alarmActions)))?.[0],
    );
    const [ends = ""] = same.map(timeToEnd);
    return [names, topic.toLowerCase(), text, ends, written.find(([each]) => each === names)?.[4] ?? ""];
  });
};

const number = (value: number) => value.toLocaleString("en");
const characters = (most: number) => `${number(most)} characters`;
const length = "422 `constraint.length`";
const range = "422 `constraint.range`";
const refused = "refused by `apply` and the CLI";

const limitRows = {
  nameLength: ["`name` of an attachment or a switch", characters(limits.nameLength), length],
  notesLength: ["`notes`", characters(limits.notesLength), length],
  filenameLength: ["`filename`, or the uploaded file's own name", characters(limits.filenameLength), length],
  endpoints: ["endpoints of a channel of a switch", number(limits.endpoints), length],
  endpointLength: ["an endpoint", characters(limits.endpointLength), length],
  identityLength: ["an identity", characters(limits.identityLength), length],
  secretLength: ["a secret", characters(limits.secretLength), length],
  pageSize: [`\`first\`, \`last\` (${limits.pageSize.default} by default)`, `${limits.pageSize.max} items`, range],
  forwardingRequests: [
    "requests in the `forwarding` of an attachment",
    number(limits.forwardingRequests),
    "the most advanced ones are counted but not listed",
  ],
  queryLength: ["a cursor, an `include`", characters(limits.queryLength), length],
  fileBytes: [
    "a file in a form (`MAX_FILE_BYTES`): what an event of 6 MB carries as base64",
    `${number(limits.fileBytes)} bytes`,
    "413, with `limit_bytes` and `direct_upload`",
  ],
  uploadBytes: ["a file of a direct upload (`MAX_UPLOAD_BYTES`)", `${number(limits.uploadBytes)} bytes`, range],
  uploadSeconds: ["the time to send it, and to create its attachment", `${limits.uploadSeconds / 60} minutes`, "404"],
  endBytes: [
    "the part of a direct upload that determines its type and encryption",
    `its first and last ${endBytes / 1024} KiB`,
    "not read",
  ],
  jsonBytes: ["a JSON body", `${number(limits.jsonBytes)} bytes`, "413, with `limit_bytes`"],
  form: [
    "a form",
    `${limits.form.parts} parts, ${number(limits.form.headerBytes)} bytes in the headers of all parts`,
    "422 `malformed`",
  ],
  idempotencyKey: ["an `Idempotency-Key`", characters(limits.idempotencyKey.length), length],
  idempotencySeconds: [
    "how long an `Idempotency-Key` is known",
    `${limits.idempotencySeconds / 3600} hours`,
    "a new request",
  ],
  accountLevels: ["levels of an account tree", number(limits.accountLevels), refused],
  permissions: ["permissions of a user", number(limits.permissions), refused],
  permissionLength: ["a permission", characters(limits.permissionLength), refused],
  dateTimeLength: ["a date and time", characters(limits.dateTimeLength), refused],
  labelLength: ["the label of a key", characters(limits.labelLength), refused],
  onBehalfOfLength: ["`on_behalf_of`", characters(limits.onBehalfOfLength), refused],
} satisfies Record<keyof typeof limits | "endBytes", readonly string[]>;

/** Things with the same limit share a line. */
const limitsOfThings = (): Rows => {
  const alike = Map.groupBy<string, readonly string[]>(Object.values(limitRows), ([, ...limit]) => limit.join());
  return Array.from(alike.values(), (same) => [same.map(([thing]) => thing).join("; "), ...(same[0]?.slice(1) ?? [])]);
};

const settled: Readonly<Record<Meaning["settles"], string>> = {
  done: "done",
  accepted:
    "Patchbay asks with the GET. `true`: done. `false`: the run asks again later. The carrier cannot say: done, unless it has said `false` before",
  gone: "withdrawn, if the carrier has not confirmed the attachment or an earlier DELETE may have acted. Else the run fails, and the next DELETE takes the same response",
  differs: "once no attempt may still act: the cart differs from the manifest, so the run forwards again what differs",
  refused: "refused, once no attempt may still act; letters that a refusal of the POST names, at once",
  conflict:
    "once no attempt may still act. To the POST, Patchbay asks with the GET. `true`: done. `false`: the run fails, `refused` if the 409 has a `reason`. The carrier cannot say: done if the 409 is JSON without a `reason`, else an unknown outcome. To a PUT or a DELETE: an unknown outcome",
  denied: "once no attempt may still act: the run fails, and its reason names what to look at",
  nothing: "repeated later",
};

const responses = (): Rows => Object.entries(settled).map(([settles, then]) => [`\`${settles}\``, then]);

/** What a row means to an engineer of the carrier. */
const forCarriers: Readonly<Record<Exclude<Meaning["settles"], "nothing">, string>> = {
  done: "done",
  accepted: "accepted: the GET says when the order is placed",
  gone: "you lack the letter: a fault if you have confirmed it",
  differs: "the cart differs from the manifest",
  conflict: "the cart is checked out, or the key is in progress",
  refused: "refused",
  denied: "the token, the address or the size is wrong: the run ends as a fault, which calls an operator",
};

const contract = (): Rows => {
  const { unsent: _, ...sent } = meanings;
  return Object.values(sent).map(({ response, acted, settles }) => {
    const repeated = `repeated with its key; ${acted === "no" ? "you have not acted" : "perhaps you have acted"}`;
    return [response, settles === "nothing" ? repeated : forCarriers[settles]];
  });
};

const program = await createProgram();

/** A line for each command, with its required parameters, or for each group, with the names of its commands. */
const commands = (): Rows =>
  program.commands.map((command) => {
    const group = command.commands.map((one) => one.name()).join("|");
    const usage = group ? `${command.name()} ${group}` : usageOf(command).replace("Usage: patchbay ", "");
    return [`\`${usage.replaceAll(/ \[--.*?\]/g, "")}\``, command.description()];
  });

const permissions = (): Rows => {
  const resources = Map.groupBy(routes, ({ resource }) => resource);
  return Array.from(resources, ([resource, [route]]) => {
    const { parent = null, permission = "" } = route ?? {};
    const { CART, CHECKED_OUT } = parent === "request" || parent === "order" ? parentPermissions[parent] : {};
    const own = permission.replace(/:.*/, ":<operation>");
    return [resource.replace("_", " "), CART, CHECKED_OUT, own].map((cell, nth) =>
      nth > 0 && cell ? `\`${cell}\`` : (cell ?? ""),
    );
  });
};

type Table = { readonly file: string; readonly head: readonly string[]; readonly rows: (written: Rows) => Rows };

const tables: Readonly<Record<string, Table>> = {
  settings: { file: "infra/README.md", head: ["setting", "default", "production", ""], rows: settings },
  environment: { file: "infra/README.md", head: ["variable", "default", ""], rows: environment },
  alarms: { file: "infra/runbook.md", head: ["alarm", "topic", "raised", "ends within", "what to do"], rows: alarms },
  responses: {
    file: "shared/checkout/README.md",
    head: ["settles", "then"],
    rows: responses,
  },
  contract: { file: "docs/carrier.md", head: ["response", "meaning"], rows: contract },
  errors: { file: "functions/README.md", head: ["status", "code", ""], rows: () => errorTable },
  permissions: {
    file: "functions/README.md",
    head: ["resource", "in the cart", "checked out", "its own permission"],
    rows: permissions,
  },
  limits: { file: "docs/limits.md", head: ["limit of", "", "beyond it"], rows: limitsOfThings },
  commands: { file: "infra/admin/README.md", head: ["command", ""], rows: commands },
};

const row = (cells: readonly string[]) =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`.replaceAll(/ {2,}/g, " ");

const cellsOf = (line: string) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));

const { values } = parseArguments(help, { options: { check: { type: "boolean" } } });

const update = (name: string, { file, head, rows }: Table) => {
  const path = join(import.meta.dirname, "../..", file);
  const text = readFileSync(path, "utf8");
  const [start, end] = [`<!-- ${name}: npm run tables -->\n\n`, "\n\n<!-- end of table -->"];
  const from = text.indexOf(start) + start.length;
  const to = text.indexOf(end, from);
  if (from < start.length || to < 0) throw new Error(`${file} lacks the markers of its table of ${name}.`);
  const written = text.slice(from, to).split("\n");
  const lines = [head, head.map(() => "---"), ...rows(written.map(cellsOf))].map(row);
  const changed = [
    ...lines.filter((line) => !written.includes(line)),
    ...written.filter((line) => !lines.includes(line)),
  ];
  const unexplained = lines.filter((line) => name === "alarms" && line.endsWith(" | |"));
  if (!values.check) writeFileSync(path, text.slice(0, from) + lines.join("\n") + text.slice(to));
  return [
    ...(values.check ? changed.map((line) => `${file} and the code differ (run npm run tables): ${line}`) : []),
    ...unexplained.map((line) => `${file} does not say what to do: ${line}`),
  ];
};

const problems = Object.entries(tables).flatMap(([name, table]) => update(name, table));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
