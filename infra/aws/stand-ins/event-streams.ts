/**
 * Stands in for `@smithy/core/event-streams`, which every client holds ready for operations that answer with a stream of
 * events (S3's SelectObjectContent). No function of ours calls one.
 */
export const eventStreamSerdeProvider = () => undefined;

export const resolveEventStreamSerdeConfig = <Config>(config: Config): Config => config;

export class EventStreamSerde {
  constructor() {
    throw new Error("The bundles hold no event streams: see infra/aws/stand-ins.");
  }
}
