/**
 * Stands in for `node:http`, which the SDK loads for endpoints without TLS (an emulator's): an ES import reads its every
 * export, and that of WebSocket loads the whole of undici (16 ms).
 */
export const { Agent, request, STATUS_CODES } = process.getBuiltinModule("node:http");
