package main

// What a publisher changes: these two lines. Everything else that names a place or a person is made of them.
const (
	// repository is where the source and the releases are, and the path of the Go module in them.
	repository = "github.com/OWNER/cg"
	// maintainer answers for the packages.
	maintainer = "cg maintainers <cg@localhost>"
)

// downloads is the folder of a version's packages.
func (r *release) downloads() string {
	return "https://" + repository + "/releases/download/v" + r.version
}
