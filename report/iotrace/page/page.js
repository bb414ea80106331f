'use strict';
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const colors = { read: '#2a6fd0', write: '#d2452f', both: '#8a4fb0' };
  const ink = () => getComputedStyle(document.body).color;

  const seconds = v => {
    const a = Math.abs(v);
    if (a === 0) return '0 s';
    if (a < 1e-6) return (v * 1e9).toPrecision(3) + ' ns';
    if (a < 1e-3) return (v * 1e6).toPrecision(3) + ' µs';
    if (a < 1) return (v * 1e3).toPrecision(3) + ' ms';
    return v.toPrecision(4) + ' s';
  };
  const bytes = v => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let i = 0;
    while (Math.abs(v) >= 1024 && i < units.length - 1) { v /= 1024; i++; }
    return (i ? v.toPrecision(3) : v.toFixed(0)) + ' ' + units[i];
  };
  const element = (name, parent, text) => {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    parent.appendChild(e);
    return e;
  };

  // A plot has a canvas with two axes. Dragging over it zooms, a double click shows all.
  function plot(figure, title, height, axes, draw, tell) {
    element('figcaption', figure, title);
    const canvas = element('canvas', figure);
    const words = element('p', figure, 'drag to zoom, double click for all');
    const all = { x: axes.x.slice(), y: axes.y.slice() };
    const p = { x: all.x.slice(), y: all.y.slice(), left: 80, bottom: 22, top: 4, right: 8 };
    let from = null, to = null;
    const c = canvas.getContext('2d');
    p.px = x => p.left + (x - p.x[0]) / (p.x[1] - p.x[0]) * (p.w - p.left - p.right);
    p.py = y => p.h - p.bottom - (y - p.y[0]) / (p.y[1] - p.y[0]) * (p.h - p.bottom - p.top);
    p.at = e => {
      const r = canvas.getBoundingClientRect();
      return [(e.clientX - r.left - p.left) / (p.w - p.left - p.right) * (p.x[1] - p.x[0]) + p.x[0],
        (p.h - p.bottom - (e.clientY - r.top)) / (p.h - p.bottom - p.top) * (p.y[1] - p.y[0]) + p.y[0]];
    };
    p.draw = () => {
      const ratio = window.devicePixelRatio || 1;
      p.w = canvas.clientWidth || 800;
      p.h = height;
      canvas.width = p.w * ratio;
      canvas.height = p.h * ratio;
      canvas.height = Math.round(p.h * ratio);
      c.setTransform(ratio, 0, 0, ratio, 0, 0);
      c.clearRect(0, 0, p.w, p.h);
      c.save();
      c.beginPath();
      c.rect(p.left, p.top, p.w - p.left - p.right, p.h - p.bottom - p.top);
      c.clip();
      draw(c, p);
      c.restore();
      c.strokeStyle = c.fillStyle = ink();
      c.globalAlpha = 0.4;
      c.strokeRect(p.left, p.top, p.w - p.left - p.right, p.h - p.bottom - p.top);
      c.globalAlpha = 1;
      c.font = '12px system-ui, sans-serif';
      for (let i = 0; i <= 4; i++) {
        const x = p.x[0] + (p.x[1] - p.x[0]) * i / 4, y = p.y[0] + (p.y[1] - p.y[0]) * i / 4;
        c.textAlign = i === 0 ? 'left' : i === 4 ? 'right' : 'center';
        c.fillText(axes.nameX(x), p.px(x), p.h - 6);
        c.textAlign = 'right';
        c.fillText(axes.nameY(y), p.left - 6, Math.min(p.h - p.bottom, p.py(y) + 8));
      }
      if (from && to) {
        c.globalAlpha = 0.25;
        c.fillRect(p.px(from[0]), p.py(from[1]), p.px(to[0]) - p.px(from[0]), p.py(to[1]) - p.py(from[1]));
        c.globalAlpha = 1;
      }
    };
    canvas.addEventListener('pointerdown', e => { from = p.at(e); to = null; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener('pointermove', e => {
      const at = p.at(e);
      words.textContent = tell(at[0], at[1], p) || '\u00a0';
      if (from) { to = at; p.draw(); }
    });
    canvas.addEventListener('pointerup', () => {
      if (from && to && Math.abs(p.px(to[0]) - p.px(from[0])) > 4 && Math.abs(p.py(to[1]) - p.py(from[1])) > 4) {
        for (const [axis, i] of [['x', 0], ['y', 1]]) {
          const a = Math.max(all[axis][0], Math.min(from[i], to[i])), b = Math.min(all[axis][1], Math.max(from[i], to[i]));
          if (b > a) p[axis] = [a, b];
        }
      }
      from = to = null;
      p.draw();
    });
    canvas.addEventListener('dblclick', () => { p.x = all.x.slice(); p.y = all.y.slice(); p.draw(); });
    canvas.style.setProperty('height', height + 'px');
    window.addEventListener('resize', p.draw);
    p.reset = (x, y) => { all.x = x; all.y = y; p.x = x.slice(); p.y = y.slice(); p.draw(); };
    return p;
  }

  // 3.1: how much of each bin the ranks of each row read and wrote.
  const rows = data.read.length, bins = rows ? data.read[0].length : 0;
  const activity = document.getElementById('activity');
  if (activity && bins) {
    const title = 'reads blue, writes red, both violet; as strong as ranks were busy' +
      (data.per_row > 1 ? ', a row for ' + data.per_row + ' ranks' : '');
    plot(activity, title, Math.min(520, Math.max(140, rows * 14)),
      { x: [0, bins * data.bin_s], y: [data.from, data.to], nameX: seconds, nameY: v => 'rank ' + Math.min(data.to - 1, Math.floor(v)) },
      (c, p) => {
        for (let r = 0; r < rows; r++) {
          const y0 = p.py(data.from + r * data.per_row), y1 = p.py(Math.min(data.to, data.from + (r + 1) * data.per_row));
          if (y0 < 0 || y1 > p.h) continue;
          for (let i = 0; i < bins; i++) {
            const read = data.read[r][i], write = data.write[r][i];
            if (!read && !write) continue;
            const x0 = p.px(i * data.bin_s), x1 = p.px((i + 1) * data.bin_s);
            if (x1 < p.left || x0 > p.w) continue;
            c.fillStyle = read && write ? colors.both : read ? colors.read : colors.write;
            c.globalAlpha = 0.25 + 0.75 * Math.min(1, (read + write) / data.bin_s / data.per_row);
            c.fillRect(x0, y1, Math.max(1, x1 - x0), Math.max(1, y0 - y1 - (y0 - y1 > 4 ? 1 : 0)));
          }
        }
        c.globalAlpha = 1;
      },
      (x, y) => {
        const r = Math.floor((y - data.from) / data.per_row), i = Math.floor(x / data.bin_s);
        if (r < 0 || r >= rows || i < 0 || i >= bins) return '';
        const first = data.from + r * data.per_row, last = Math.min(data.to, first + data.per_row) - 1;
        return 'rank ' + first + (last > first ? ' to ' + last : '') + ' at ' + seconds(x) + ': reads ' + seconds(data.read[r][i]) +
          ', writes ' + seconds(data.write[r][i]) + ' of ' + seconds(data.bin_s);
      }).draw();
  }

  // 3.2 and 3.3: which bytes of a file were accessed, by rank and by time.
  const byRank = document.getElementById('ranks'), byTime = document.getElementById('times');
  if (byRank && data.files.length) {
    const select = element('select', byRank);
    data.files.forEach((f, i) => {
      const o = element('option', select, f.name + (f.every > 1 ? ' (one of ' + f.every + ' accesses)' : ''));
      o.value = i;
    });
    if (data.left_over) element('figcaption', byRank, 'and ' + data.left_over + ' files with fewer bytes');
    const span = f => {
      let x = [Infinity, -Infinity], y = [Infinity, -Infinity];
      for (let i = 0; i < f.off.length; i++) {
        x = [Math.min(x[0], f.from[i]), Math.max(x[1], f.to[i])];
        y = [Math.min(y[0], f.off[i]), Math.max(y[1], f.off[i] + f.count[i])];
      }
      if (!(x[1] > x[0])) x[1] = x[0] + 1e-9;
      if (!(y[1] > y[0])) y[1] = y[0] + 1;
      return { x, y };
    };
    let f = data.files[0];
    const each = (c, p, edges) => {
      for (let i = 0; i < f.off.length; i++) {
        c.fillStyle = f.read[i] ? colors.read : colors.write;
        c.globalAlpha = 0.8;
        const [a, b] = edges(i);
        const y0 = p.py(f.off[i]), y1 = p.py(f.off[i] + f.count[i]);
        c.fillRect(p.px(a), Math.min(y0, y1), Math.max(1.5, p.px(b) - p.px(a)), Math.max(1.5, Math.abs(y0 - y1)));
      }
      c.globalAlpha = 1;
    };
    const first = span(f);
    const ranks = plot(byRank, 'offset by rank; reads blue, writes red', 300,
      { x: [data.from, data.to], y: first.y, nameX: v => 'rank ' + Math.min(data.to - 1, Math.floor(v)), nameY: bytes },
      (c, p) => each(c, p, i => [f.rank[i] + 0.1, f.rank[i] + 0.9]),
      (x, y) => 'rank ' + Math.floor(x) + ', offset ' + bytes(y));
    const times = plot(byTime, 'offset by time; reads blue, writes red', 300,
      { x: first.x, y: first.y, nameX: seconds, nameY: bytes },
      (c, p) => each(c, p, i => [f.from[i], f.to[i]]),
      (x, y) => seconds(x) + ', offset ' + bytes(y));
    select.addEventListener('change', () => {
      f = data.files[select.value];
      const s = span(f);
      ranks.reset([data.from, data.to], s.y);
      times.reset(s.x, s.y);
    });
    ranks.draw();
    times.draw();
  }
})();
