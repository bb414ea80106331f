package flags

// ProjectFile is looked for in the current folder and those above it.
const ProjectFile = ".cg.toml"
