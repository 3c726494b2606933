export const element = (name: string, text: string, className = "") => {
  const created = document.createElement(name);
  created.textContent = text;
  created.className = className;
  return created;
};
