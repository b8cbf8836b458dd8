package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (p *program) versionCommand() *cobra.Command {
	return p.answers(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
				Revision string `json:"revision,omitempty"`
			}{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, revision()}
			if p.asJSON {
				return p.answer(v)
			}
			p.say("countersign %s", v.Version)
			p.say("%s %s", v.Go, v.Platform)
			if v.Revision != "" {
				p.say("revision %s", v.Revision)
			}
			return nil
		},
	})
}

// revision is the commit the program was built from, "" where the build does not
// say.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
