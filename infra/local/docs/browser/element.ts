export const element = (name: string, text: string, className = "") => {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
};
