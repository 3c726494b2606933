/** The ids in all examples, which refer to each other. */
export const ids = {
  account: "01K9Z2M4C7D9F1H3K5N7Q9S1V3",
  order: "01K9Z3Q8R2T4W6Y8A0C2E4G6J8",
  request: "01K9Z3Q9B5X7Z1D3F5H7K9N1Q4",
  attachment: "01K9Z4T7M3C8XW5R2BN6HJDEFG",
  otherAttachment: "01K9Z4V2P6S8V0X2Z4B6D8F0H2",
  upload: "01K9Z4W8D0F2H4K6N8Q0S2V4X6",
  switch: "01K9Z5A1G3J5M7P9R1T3W5Y7A9",
} as const;

/** The examples of path parameters, by name. */
export const pathIds: Readonly<Record<string, string>> = {
  account_id: ids.account,
  order_id: ids.order,
  request_id: ids.request,
  attachment_id: ids.attachment,
  id: ids.switch,
};
