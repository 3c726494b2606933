/**
 * Directs this process to a target. The AWS SDK and shared/env.ts read these variables at each call. Nothing else in infra sets them, so
 * that what a command works on is found here.
 */
export const directTo = (environment: Readonly<Record<string, string>>): void => {
  Object.assign(process.env, environment);
};
