/** The small part of the DOM that js/report.mjs uses. There is no innerHTML: a module that needs it fails here. */

class Element {
  constructor(tag, namespace = "") {
    this.tagName = tag;
    this.namespaceURI = namespace;
    this.childNodes = [];
    this.attributes = {};
  }
  get className() {
    return this.attributes.class ?? "";
  }
  set className(value) {
    this.attributes.class = value;
  }
  get children() {
    return this.childNodes.filter((child) => child instanceof Element);
  }
  get textContent() {
    return this.childNodes.map((child) => (child instanceof Element ? child.textContent : child)).join("");
  }
  append(...nodes) {
    this.childNodes.push(...nodes);
  }
  replaceChildren(...nodes) {
    this.childNodes = nodes;
  }
  setAttribute(name, value) {
    this.attributes[name] = String(value);
  }
  getAttribute(name) {
    return this.attributes[name] ?? null;
  }
  toggleAttribute(name, on) {
    if (on) this.attributes[name] = "";
    else delete this.attributes[name];
  }
  /** All elements below, in order, that a test picks. */
  all(pick) {
    return this.children.flatMap((child) => [...(pick(child) ? [child] : []), ...child.all(pick)]);
  }
  tags(name) {
    return this.all((element) => element.tagName === name);
  }
}

export const document = {
  createElement: (tag) => new Element(tag),
  createElementNS: (namespace, tag) => new Element(tag, namespace),
};
