/** A token bucket, as API Gateway throttles a stage: `rate` requests a second, and `burst` at once. */
export type Throttle = { readonly rate: number; readonly burst: number };

/** Whether one more request may pass now; `now` is in milliseconds. */
export const tokenBucket = ({ rate, burst }: Throttle) => {
  let tokens = burst;
  let filledAt: number | undefined;
  return (now: number): boolean => {
    tokens = Math.min(burst, tokens + ((now - (filledAt ?? now)) / 1000) * rate);
    filledAt = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
};
