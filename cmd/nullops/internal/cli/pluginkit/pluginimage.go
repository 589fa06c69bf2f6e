package pluginkit

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/plugins/packaging"
	"github.com/nullops/nullops/plugins/stdio"
)

// openSubject is the plugin in a folder, or the one in an image.
func (f *tryFlags) openSubject(ctx context.Context, what string, c packaging.Credentials) (
	p pluginFolder, err error,
) {
	info, err := os.Stat(what)
	switch {
	case err == nil && info.IsDir() && f.component != "":
		return p, exit.AsUsageError(
			errors.New("--component goes with an IMAGE; DIR has a component.json"))
	case err == nil && info.IsDir():
		if p, err = openPlugin(what); err != nil {
			return p, err
		}
	default:
		if f.image != "" || f.program != "" || f.from != "" {
			return p, exit.AsUsageError(fmt.Errorf("%s is not a folder: --image, --program and --from "+
				"go with DIR", what))
		}
		if p, err = openImage(ctx, what, f.component, c); err != nil {
			return p, err
		}
		f.image = what
	}
	if f.inputs == "" {
		return p, nil
	}
	if info, err := os.Stat(f.inputs); err != nil || !info.IsDir() {
		return p, exit.AsUsageError(fmt.Errorf("--inputs %s is not a folder", f.inputs))
	}
	p.inputs = f.inputs
	return p, nil
}

// openImage reads a plugin's component from its image.
func openImage(ctx context.Context, ref, component string, c packaging.Credentials) (
	p pluginFolder, err error,
) {
	image, err := packaging.Pull(ctx, ref, c)
	if err != nil {
		return p, fmt.Errorf("%s is neither a folder nor an image that can be had: %w", ref, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return p, fmt.Errorf("read the image %s: %w", ref, err)
	}
	p.name, p.text = ref, []byte(config.Config.Labels[packaging.ComponentLabel])
	if component != "" {
		if p.text, err = os.ReadFile(component); err != nil {
			return p, exit.AsUsageError(fmt.Errorf("--component: %w", err))
		}
	}
	if len(p.text) == 0 {
		return p, exit.AsUsageError(fmt.Errorf("the image %s has no label %s: give its component.json "+
			"with --component", ref, packaging.ComponentLabel))
	}
	p.component, err = stdio.ParseComponent(p.text)
	return p, err
}

// pullAuth are the credentials the engine pulls with.
func pullAuth(
	ctx context.Context, ref string, c packaging.Credentials,
) (*wire.RegistryAuth, error) {
	known, err := c.ForImage(ctx, ref)
	if err != nil || known == (packaging.Credentials{}) {
		return nil, err
	}
	return &wire.RegistryAuth{Username: known.User, Password: known.Password}, nil
}
