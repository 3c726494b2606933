import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { buildApp } from "fauxqs";
import type { Part } from "./table.ts";

/** Starts fauxqs on a free port of 127.0.0.1, in memory or in a folder. Its own `startFauxqs` would listen on every interface. */
const startFauxqs = async (folder: string | undefined): Promise<Part> => {
  const app = buildApp({ logger: false, ...(folder !== undefined && { s3StorageDir: folder }) });
  const endpoint = await app.listen({ host: "127.0.0.1", port: 0 });
  return { endpoint, stop: () => app.close() };
};

/** The embedded S3 with the bucket made; where AWS_ENDPOINT_URL_S3 is set, the bucket there. */
export const startFiles = async (bucket: string, folder?: string): Promise<Part> => {
  const given = process.env.AWS_ENDPOINT_URL_S3;
  const part = given ? { endpoint: given, stop: async () => {} } : await startFauxqs(folder);
  const client = new S3Client({ endpoint: part.endpoint, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error: unknown) => {
    if (!(error instanceof Error && /BucketAlready/.test(error.name))) throw error;
  });
  client.destroy();
  return part;
};
