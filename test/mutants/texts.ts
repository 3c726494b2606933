import { declareValuePlugin, type Ignorer, PluginKind } from "@stryker-mutator/api/plugin";

/** What is not mutated: the wording of texts and logs. Texts are the strings with a space. */

const textOf = (node: Parameters<Ignorer["shouldIgnore"]>[0]["node"]): string => {
  if (node.type === "StringLiteral") return node.value;
  return node.type === "TemplateLiteral" ? node.quasis.map(({ value }) => value.raw).join("") : "";
};

const isLog = ({ node }: Parameters<Ignorer["shouldIgnore"]>[0]) =>
  node.type === "CallExpression" &&
  node.callee.type === "MemberExpression" &&
  node.callee.object.type === "Identifier" &&
  node.callee.object.name === "log";

const texts: Ignorer = {
  shouldIgnore: (path) =>
    textOf(path.node).includes(" ") || isLog(path) ? "the wording of a text or a log" : undefined,
};

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, "texts", texts)];
