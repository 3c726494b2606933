/* The API reference in the browser. The demo key is filled in, unless the visitor has put in a key of their own. */

const ownKey = () => JSON.parse(localStorage.getItem("authorized") || "{}").apiKey;

const { key } = await (await fetch("/docs/demo.json")).json();

/* A part of a form that is left empty is left out, unless its "Send empty value" is ticked. */
const leaveOutEmptyParts = () => ({
  wrapComponents: {
    ParameterIncludeEmpty: (Original, system) => (props) =>
      system.React.createElement(Original, {
        ...props,
        isIncludedOptions: { ...props.isIncludedOptions, defaultValue: false },
      }),
  },
});

const ui = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [leaveOutEmptyParts],
  validatorUrl: null,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  onComplete: () => {
    if (!key || ownKey()) return;
    ui.preauthorizeApiKey("apiKey", key);
    document.getElementById("who").textContent = "API reference, with the demo key filled in";
  },
});
