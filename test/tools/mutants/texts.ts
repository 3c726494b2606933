import * as z from "zod/mini";

/** Excludes the wording of texts and of logs from mutation. A text is a string with a space. */

const text = z.string().check(z.regex(/ /));
const Text = z.object({ type: z.literal("StringLiteral"), value: text });
const Quasis = z.array(z.object({ value: z.object({ raw: z.string() }) }));
const Template = z.object({ type: z.literal("TemplateLiteral"), quasis: Quasis });
const callee = z.object({ object: z.object({ name: z.literal("log") }) });
const Log = z.object({ type: z.literal("ExpressionStatement"), expression: z.object({ callee }) });

const isText = (node: unknown) =>
  z.safeParse(Text, node).success ||
  (z.safeParse(Template, node).data?.quasis ?? []).some(({ value }) => value.raw.includes(" "));

const shouldIgnore = ({ node }: { readonly node: unknown }) =>
  isText(node) || z.safeParse(Log, node).success ? "the wording of a text or a log" : undefined;

export const strykerPlugins = [{ kind: "Ignore", name: "texts", value: { shouldIgnore } }];
