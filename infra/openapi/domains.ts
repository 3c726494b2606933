import { attachmentDescriptions } from "../../shared/attachments/descriptions.ts";
import { attachmentDocuments } from "../../shared/attachments/documents.ts";
import type { DocumentType, ResourceType } from "../../shared/routes.ts";
import type { Descriptions } from "../../shared/schema/descriptions.ts";
import { switchDescriptions } from "../../shared/switches/descriptions.ts";
import { switchDocuments } from "../../shared/switches/documents.ts";

/** The schema of each document type. */
export const documents = { ...attachmentDocuments, ...switchDocuments } as const satisfies Record<
  DocumentType,
  unknown
>;

const tags = { ...attachmentDescriptions.tags, ...switchDescriptions.tags } as const satisfies Record<
  ResourceType,
  unknown
>;

export const tagOf = (resource: ResourceType) => tags[resource];

const domains: readonly Descriptions[] = [attachmentDescriptions, switchDescriptions];

/** The descriptions of the domain to which a resource belongs. */
export const descriptionsOf = (resource: ResourceType): Descriptions => {
  const descriptions = domains.find((domain) => Object.hasOwn(domain.tags, resource));
  if (!descriptions) throw new Error(`No domain describes the resource ${resource}.`);
  return descriptions;
};
