import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { buildApp } from "fauxqs";
import { limits } from "../../shared/limits.ts";
import type { LocalService } from "./dynoxide.ts";
import { isLocalRequest } from "./local-request.ts";
import { repairFiles } from "./repair-files.ts";
import { s3ErrorFor } from "./signed-urls.ts";

type Stores = NonNullable<NonNullable<Parameters<typeof buildApp>[0]>["stores"]>;
type Persistence = NonNullable<Stores["s3Store"]["persistence"]>;

/** Imports a class that fauxqs does not export. Its `startFauxqs` persists files, but listens on all network interfaces. */
const importInternal = async (path: string) => import(new URL(path, import.meta.resolve("fauxqs")).href);

/** The stores of fauxqs, with the objects of S3 in a folder. */
const storesIn = async (folder: string): Promise<Stores> => {
  const { S3Store }: { S3Store: new () => Stores["s3Store"] } = await importInternal("./s3/s3Store.js");
  const { SqsStore }: { SqsStore: new () => Stores["sqsStore"] } = await importInternal("./sqs/sqsStore.js");
  const { SnsStore }: { SnsStore: new () => Stores["snsStore"] } = await importInternal("./sns/snsStore.js");
  const { FileS3Persistence }: { FileS3Persistence: new (folder: string) => Persistence } =
    await importInternal("./s3/fileS3Persistence.js");
  const stores = { s3Store: new S3Store(), sqsStore: new SqsStore(), snsStore: new SnsStore() };
  repairFiles(folder);
  const persistence = new FileS3Persistence(folder);
  persistence.loadS3(stores.s3Store);
  stores.s3Store.persistence = persistence;
  return stores;
};

/** fauxqs limits bodies to 11 MiB and has no option for it. It holds each object in memory. */
const allowLargeFiles = (app: ReturnType<typeof buildApp>) => {
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

/** Verifies signatures like S3, so that a signed URL accepts only the announced file. A preflight request has no signature. */
const verifySignatures = (app: ReturnType<typeof buildApp>) => {
  app.addHook("preHandler", async ({ method, originalUrl: url, headers, body }, reply) => {
    if (method === "OPTIONS") return;
    const credentials = {
      accessKeyId: process.env.AWS_ACCESS_KEY_ID,
      secret: process.env.AWS_SECRET_ACCESS_KEY ?? "",
    };
    const error = s3ErrorFor({ method, url, headers, body }, credentials, new Date());
    if (!error) return;
    const { status, code, message } = error;
    return reply
      .code(status)
      .type("application/xml")
      .send(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
  });
};

/** The CORS headers of a bucket on AWS with `uploadOrigins`. Pages of other origins are refused. */
const addCors = (app: ReturnType<typeof buildApp>, origins: Origins) => {
  app.addHook("onRequest", async ({ raw, method, headers: { origin } }, reply) => {
    if (!isLocalRequest(raw, origins())) return reply.code(403).send();
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
const startFauxqs = async ({ folder, uploadOrigins = () => [] }: Options): Promise<LocalService> => {
  const app = buildApp({ logger: false, ...(folder !== undefined && { stores: await storesIn(folder) }) });
  allowLargeFiles(app);
  verifySignatures(app);
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
