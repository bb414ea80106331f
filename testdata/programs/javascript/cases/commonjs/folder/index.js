module.exports = { here() { return require("node:path").basename(__dirname) } }
