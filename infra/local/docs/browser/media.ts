/** Shows the properties, fields and samples of one media type of an operation's body, and hides the others. */
export const chooseMediaType = (operation: Element, mediaType: string) => {
  for (const button of operation.querySelectorAll<HTMLElement>("[data-choose]"))
    button.setAttribute("aria-pressed", String(button.dataset.choose === mediaType));
  for (const part of operation.querySelectorAll<HTMLElement>("[data-media]"))
    part.hidden = part.dataset.media !== mediaType;
};

export const startMediaTypes = (changed: () => void) => {
  for (const button of document.querySelectorAll<HTMLElement>("[data-choose]"))
    button.addEventListener("click", () => {
      const operation = button.closest(".operation");
      if (operation) chooseMediaType(operation, button.dataset.choose ?? "");
      changed();
      button.scrollIntoView({ block: "nearest" });
    });
};
