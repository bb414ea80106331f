exports.f = ({ x: [a] = [] }, ...b) => { const { y: b } = a; return b }
