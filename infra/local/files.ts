import { mkdirSync, renameSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { buildApp } from "fauxqs";
import { limits } from "../../shared/limits.ts";
import type { LocalService } from "./dynoxide.ts";
import { isLocalRequest } from "./listen.ts";
import { repairFiles, unfinishedFolder } from "./repair-files.ts";
import { isChunked, type S3Error, s3ErrorFor } from "./signed-urls.ts";

type Stores = NonNullable<NonNullable<Parameters<typeof buildApp>[0]>["stores"]>;
type Store = Stores["s3Store"];
type Persistence = NonNullable<Store["persistence"]>;
type App = ReturnType<typeof buildApp>;

/** Imports a class that fauxqs does not export. Its `startFauxqs` persists files, but listens on all network interfaces. */
const importInternal = async (path: string) =>
  import(new URL(`dist/${path}`, pathToFileURL(findPackageJSON("fauxqs", import.meta.url) ?? "")).href);

const storesIn = async (folder: string | undefined): Promise<Stores> => {
  const { S3Store }: { S3Store: new () => Store } = await importInternal("s3/s3Store.js");
  const { SqsStore }: { SqsStore: new () => Stores["sqsStore"] } = await importInternal("sqs/sqsStore.js");
  const { SnsStore }: { SnsStore: new () => Stores["snsStore"] } = await importInternal("sns/snsStore.js");
  const s3Store = new S3Store();
  if (folder !== undefined) await storeIn(folder, s3Store);
  return { s3Store, sqsStore: new SqsStore(), snsStore: new SnsStore() };
};

const storeIn = async (folder: string, store: Store): Promise<void> => {
  const { FileS3Persistence }: { FileS3Persistence: new (folder: string) => Persistence } =
    await importInternal("s3/fileS3Persistence.js");
  const damaged = repairFiles(folder);
  const persistence = new FileS3Persistence(folder);
  persistence.loadS3(store);
  for (const { bucket, key, bytes } of damaged) {
    const object = store.headObject(bucket, key);
    console.error(
      `${key} is damaged: it has ${bytes} of ${object.contentLength} bytes. \`admin check\` reports it, too.`,
    );
    object.contentLength = bytes;
  }
  // fauxqs writes in place, and a crash would then damage the object that is replaced. The data file is renamed last, because
  // an object without it does not exist.
  const unfinished = new FileS3Persistence(join(folder, unfinishedFolder));
  persistence.upsertObject = (bucket, object) => {
    unfinished.upsertObject(bucket, object);
    for (const ending of [".meta.json", ".data"]) {
      const path = join("buckets", bucket, "objects", object.key + ending);
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      renameSync(join(folder, unfinishedFolder, path), join(folder, path));
    }
  };
  store.persistence = persistence;
};

/** fauxqs limits bodies to 11 MiB and has no option for it. It holds each object in memory. */
const allowLargeFiles = (app: App) => {
  app.removeContentTypeParser("*");
  app.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: limits.uploadBytes }, (_request, body, done) =>
    done(null, body),
  );
};

type Options = {
  readonly folder?: string | undefined;
  /** Origins whose pages may send files, like the stage's setting of that name. */
  readonly uploadOrigins?: Origins;
};

type Origins = () => readonly string[];

const errorBody = ({ code, message }: Pick<S3Error, "code" | "message">) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;

/** Verifies signatures like S3, so that a signed URL accepts only the announced file. A preflight request has no signature. */
const verifySignatures = (app: App) => {
  // The same as the service signs with, whichever provider they are from.
  const { credentials } = new S3Client({}).config;
  app.addHook("preHandler", async ({ method, originalUrl: url, headers, body }, reply) => {
    if (method === "OPTIONS") return;
    const error = s3ErrorFor({ method, url, headers, body }, await credentials(), new Date());
    if (error) return reply.code(error.status).type("application/xml").send(errorBody(error));
    // fauxqs decodes whatever has this header, even if nobody has encoded it.
    if (!isChunked(headers)) delete headers["content-encoding"];
  });
};

const hasObject = (store: Store, url: string): boolean => {
  const [, bucket = "", ...key] = new URL(url, "http://storage").pathname.split("/");
  try {
    return Boolean(store.headObject(bucket, decodeURIComponent(key.join("/"))));
  } catch {
    // fauxqs throws if there is no such bucket or object.
    return false;
  }
};

/** Implements `If-None-Match: *`, which fauxqs ignores. Synchronous, so that no other PUT comes between this and the handler. */
const honorIfNoneMatch = (app: App, store: Store) => {
  app.addHook("preHandler", ({ method, originalUrl: url, headers }, reply, done) => {
    if (method !== "PUT" || headers["if-none-match"] !== "*" || !hasObject(store, url)) return done();
    const message = "At least one of the pre-conditions you specified did not hold";
    reply
      .code(412)
      .type("application/xml")
      .send(errorBody({ code: "PreconditionFailed", message }));
  });
};

/** The CORS headers of a bucket on AWS with `uploadOrigins`. Pages of other origins are refused. */
const addCors = (app: App, origins: Origins) => {
  app.addHook("onRequest", async ({ raw, method, headers: { origin } }, reply) => {
    if (!isLocalRequest(raw, origins())) return reply.code(403).send();
    if (origin === undefined || !origins().includes(origin)) return;
    reply.headers({ "Access-Control-Allow-Origin": origin, Vary: "Origin" });
    if (method !== "OPTIONS") return;
    const allowed = { "Access-Control-Allow-Methods": "PUT", "Access-Control-Max-Age": "3600" };
    const headers = "content-type, if-none-match, x-amz-checksum-sha256";
    return reply
      .code(204)
      .headers({ ...allowed, "Access-Control-Allow-Headers": headers })
      .send();
  });
};

const startFauxqs = async ({ folder, uploadOrigins = () => [] }: Options): Promise<LocalService> => {
  const stores = await storesIn(folder);
  const app = buildApp({ logger: false, stores });
  allowLargeFiles(app);
  verifySignatures(app);
  honorIfNoneMatch(app, stores.s3Store);
  addCors(app, uploadOrigins);
  const endpoint = await app.listen({ host: "127.0.0.1", port: 0 });
  return { endpoint, stop: () => app.close() };
};

/** Starts the embedded S3, or uses the one at AWS_ENDPOINT_URL_S3, and creates the bucket. */
export const startFiles = async (bucket: string, options: Options = {}): Promise<LocalService> => {
  const given = process.env.AWS_ENDPOINT_URL_S3;
  const service = given ? { endpoint: given, stop: async () => {} } : await startFauxqs(options);
  const client = new S3Client({ endpoint: service.endpoint, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error: unknown) => {
    const name = error instanceof Error ? error.name : String(error);
    if (!/BucketAlready/.test(name))
      throw new Error(`There is no working S3 at ${service.endpoint}: ${name}.`, { cause: error });
  });
  client.destroy();
  return service;
};
