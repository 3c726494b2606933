import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { buildApp } from "fauxqs";
import { limits } from "../../shared/limits.ts";
import type { Part } from "./dynoxide.ts";
import { repairFiles } from "./repair-files.ts";
import { refusalOf } from "./signed-urls.ts";

type Stores = NonNullable<NonNullable<Parameters<typeof buildApp>[0]>["stores"]>;
type Persistence = NonNullable<Stores["s3Store"]["persistence"]>;

/** A class of fauxqs that its package does not export; only `startFauxqs` keeps files, and it listens on every interface. */
const inside = async (path: string) => import(new URL(path, import.meta.resolve("fauxqs")).href);

/** The stores of fauxqs, with the objects of S3 kept in a folder. */
const keptIn = async (folder: string): Promise<Stores> => {
  const { S3Store }: { S3Store: new () => Stores["s3Store"] } = await inside("./s3/s3Store.js");
  const { SqsStore }: { SqsStore: new () => Stores["sqsStore"] } = await inside("./sqs/sqsStore.js");
  const { SnsStore }: { SnsStore: new () => Stores["snsStore"] } = await inside("./sns/snsStore.js");
  const { FileS3Persistence }: { FileS3Persistence: new (folder: string) => Persistence } =
    await inside("./s3/fileS3Persistence.js");
  const stores = { s3Store: new S3Store(), sqsStore: new SqsStore(), snsStore: new SnsStore() };
  repairFiles(folder);
  const persistence = new FileS3Persistence(folder);
  persistence.loadS3(stores.s3Store);
  stores.s3Store.persistence = persistence;
  return stores;
};

/** fauxqs itself takes bodies of 11 MiB; it has no option for more. It keeps every object in memory as a whole. */
const takeLargeFiles = (app: ReturnType<typeof buildApp>) => {
  app.removeContentTypeParser("*");
  app.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: limits.uploadBytes }, (_request, body, done) =>
    done(null, body),
  );
};

type Options = {
  readonly folder?: string | undefined;
  /** Origins whose pages may send files, as the stage's setting of that name. */
  readonly uploadOrigins?: Origins;
};

type Origins = () => readonly string[];

/** As S3 does, so that a signed URL takes the announced file and no other. A preflight carries no signature. */
const refuseUnsigned = (app: ReturnType<typeof buildApp>) => {
  app.addHook("preHandler", async ({ method, originalUrl: url, headers, body }, reply) => {
    if (method === "OPTIONS") return;
    const credentials = {
      accessKeyId: process.env.AWS_ACCESS_KEY_ID,
      secret: process.env.AWS_SECRET_ACCESS_KEY ?? "",
    };
    const refusal = refusalOf({ method, url, headers, body }, credentials, new Date());
    if (!refusal) return;
    const { status, code, message } = refusal;
    return reply
      .code(status)
      .type("application/xml")
      .send(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
  });
};

/** What a bucket does on AWS for its `uploadOrigins`: their pages may send files. */
const takeFilesFromPages = (app: ReturnType<typeof buildApp>, origins: Origins) => {
  app.addHook("onRequest", async ({ method, headers: { origin } }, reply) => {
    if (origin === undefined || !origins().includes(origin)) return;
    reply.headers({ "Access-Control-Allow-Origin": origin, Vary: "Origin" });
    if (method !== "OPTIONS") return;
    const allowed = { "Access-Control-Allow-Methods": "PUT", "Access-Control-Max-Age": "3600" };
    const headers = "content-type, x-amz-checksum-sha256";
    return reply
      .code(204)
      .headers({ ...allowed, "Access-Control-Allow-Headers": headers })
      .send();
  });
};

/** Starts fauxqs on a free port of 127.0.0.1, in memory or in a folder. */
const startFauxqs = async ({ folder, uploadOrigins = () => [] }: Options): Promise<Part> => {
  const app = buildApp({ logger: false, ...(folder !== undefined && { stores: await keptIn(folder) }) });
  takeLargeFiles(app);
  refuseUnsigned(app);
  takeFilesFromPages(app, uploadOrigins);
  const endpoint = await app.listen({ host: "127.0.0.1", port: 0 });
  return { endpoint, stop: () => app.close() };
};

/** The embedded S3 with the bucket made; where AWS_ENDPOINT_URL_S3 is set, the bucket there. */
export const startFiles = async (bucket: string, options: Options = {}): Promise<Part> => {
  const given = process.env.AWS_ENDPOINT_URL_S3;
  const part = given ? { endpoint: given, stop: async () => {} } : await startFauxqs(options);
  const client = new S3Client({ endpoint: part.endpoint, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error: unknown) => {
    const name = error instanceof Error ? error.name : String(error);
    if (!/BucketAlready/.test(name))
      throw new Error(`There is no working S3 at ${part.endpoint}: ${name}.`, { cause: error });
  });
  client.destroy();
  return part;
};
