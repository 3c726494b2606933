/** API Gateway throttles a stage with a token bucket: `rate` requests per second, and `burst` at once. */
export type Throttle = { readonly rate: number; readonly burst: number };

/** The returned function takes a token if there is one. `now` is in milliseconds. */
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
