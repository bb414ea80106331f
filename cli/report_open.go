package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"cg/cli/exit"
	"cg/cli/tell"
)

// openedFormat is what --open shows where no file is named.
const openedFormat = "html"

// browse starts the user's browser on a file and does not wait for it.
func browse(file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	tell.Notef("the page is %s", file)
	var try [][]string
	for _, b := range filepath.SplitList(os.Getenv("BROWSER")) {
		words := strings.Fields(b)
		if len(words) == 0 {
			continue
		}
		named := false
		for i, w := range words {
			if strings.Contains(w, "%s") {
				words[i], named = strings.ReplaceAll(w, "%s", file), true
			}
		}
		if !named {
			words = append(words, file)
		}
		try = append(try, words)
	}
	if os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "" {
		for _, b := range []string{"xdg-open", "sensible-browser", "x-www-browser", "firefox", "chromium",
			"google-chrome"} {
			try = append(try, []string{b, file})
		}
	}
	for _, words := range try {
		path, err := exec.LookPath(words[0])
		if err != nil {
			continue
		}
		// Its own session: it outlives cg and a Ctrl-C that is meant for cg.
		browser := exec.Command(path, words[1:]...)
		browser.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if browser.Start() == nil {
			return browser.Process.Release()
		}
	}
	return exit.Failure(
		"--open: no browser was found (BROWSER names one; else there has to be a DISPLAY or WAYLAND_DISPLAY): open " +
			"the page yourself")
}
