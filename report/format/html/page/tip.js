// What is told at the pointer. The same stands in a line of its view, for those without a
// pointer.

const tip = {
  box: null,
  // show shows words beside the pointer, on the side that has room.
  show(e, ...words) {
    if (!tip.box) document.body.append(tip.box = el('div', { id: 'tip', 'aria-hidden': 'true' }));
    tip.box.replaceChildren(...words.flat(3).filter((w) => w !== null && w !== undefined && w !== false));
    tip.box.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = tip.box, x = e.clientX + 14, y = e.clientY + 18;
    tip.box.style.left = Math.max(4, x + w > innerWidth - 4 ? e.clientX - w - 10 : x) + 'px';
    tip.box.style.top = Math.max(4, y + h > innerHeight - 4 ? e.clientY - h - 10 : y) + 'px';
  },
  hide() { if (tip.box) tip.box.hidden = true; },
};
addEventListener('scroll', tip.hide, { capture: true, passive: true });
addEventListener('keydown', tip.hide, { capture: true });
