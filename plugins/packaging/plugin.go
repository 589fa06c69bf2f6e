package packaging

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nullops/nullops/plugins/stdio"
)

// ComponentLabel holds a plugin's component.json in its image's configuration.
const ComponentLabel = "io.nullops.component"

// Plugin is what the image of a plugin is made from.
type Plugin struct {
	// Name becomes the image's title.
	Name string
	// Component is the text of component.json.
	Component []byte
	// Program is a static binary, which becomes /app/NAME, or a folder, whose
	// content goes to /app. A folder needs an executable named run.
	Program string
	// From is an image to build on, nil for none: a script needs one with its
	// interpreter.
	From v1.Image
	// Cache keeps layers between builds.
	Cache string
}

// Build builds the plugin's image. Equal input results in an equal digest.
func (p Plugin) Build() (v1.Image, error) {
	if _, err := stdio.ParseComponent(p.Component); err != nil {
		return nil, err
	}
	files, entrypoint, err := p.programFiles()
	if err != nil {
		return nil, err
	}
	layers, config, err := p.baseImage()
	if err != nil {
		return nil, err
	}
	own, err := MakeLayer(p.Cache, files)
	if err != nil {
		return nil, err
	}
	config.Entrypoint, config.Cmd, config.User = entrypoint, nil, Nobody
	config.WorkingDir = "/"
	if config.Labels == nil {
		config.Labels = map[string]string{}
	}
	config.Labels["org.opencontainers.image.title"] = p.Name
	config.Labels[ComponentLabel] = Compact(p.Component)
	return Assemble(Plan{From: p.From, Layers: append(layers, own), Config: config,
		Created: Epoch(), By: "nullops plugin build"})
}

// baseImage returns what the program's layer is put on: the layers and configuration
// of an image, or the layer of files that every static program may need.
func (p Plugin) baseImage() (layers []Layer, config v1.Config, err error) {
	if p.From == nil {
		base, err := StaticBase()
		if err != nil {
			return nil, config, err
		}
		layer, err := MakeLayer(p.Cache, base)
		return []Layer{layer}, config, err
	}
	below, err := p.From.ConfigFile()
	if err != nil {
		return nil, config, fmt.Errorf("read the image below: %w", err)
	}
	return nil, *below.Config.DeepCopy(), nil
}

// Compact takes the white space out of JSON; other text stays as it is.
func Compact(data []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, data) != nil {
		return strings.TrimSpace(string(data))
	}
	return out.String()
}

// programFiles returns the files of the program and the component, and the command that
// starts it.
func (p Plugin) programFiles() ([]File, []string, error) {
	component := File{Path: "component.json", Data: p.Component}
	info, err := os.Stat(p.Program)
	if err != nil {
		return nil, nil, fmt.Errorf("the plugin's program: %w", err)
	}
	if !info.IsDir() {
		if err := checkStatic(p.Program); err != nil {
			return nil, nil, err
		}
		at := "app/" + p.Name
		return []File{component, {Path: at, From: p.Program, Mode: 0o755}}, []string{"/" + at}, nil
	}
	files, err := listFolder(p.Program)
	if err != nil {
		return nil, nil, err
	}
	runs := slices.ContainsFunc(files, func(f File) bool {
		return f.Path == "app/run" && f.Mode&0o111 != 0
	})
	if !runs {
		return nil, nil, fmt.Errorf("folder %s has no executable file named run: "+
			"it is what the image starts", p.Program)
	}
	if p.From == nil && checkStatic(filepath.Join(p.Program, "run")) != nil {
		return nil, nil, fmt.Errorf("%s/run is a script, or needs libraries: give --from with an "+
			"image that has what it needs", p.Program)
	}
	return append(files, component), []string{"/app/run"}, nil
}

// listFolder lists a folder's files below /app, without what is for development.
func listFolder(root string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if isSkipped(d.Name(), rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		at := path.Join("app", filepath.ToSlash(rel))
		switch mode := d.Type(); {
		case d.IsDir():
			files = append(files, File{Path: at, Dir: true})
		case mode&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			files = append(files, File{Path: at, Link: target})
		case mode.IsRegular():
			info, err := d.Info()
			if err != nil {
				return err
			}
			// Who may read it here must not change the digest.
			files = append(files, File{Path: at, From: name, Mode: 0o644 | int64(info.Mode()&0o111)})
		default:
			return fmt.Errorf("%s is neither a file, a folder nor a link", rel)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", root, err)
	}
	return files, nil
}

func isSkipped(name, rel string) bool {
	switch rel {
	case "testdata", "component.json", "README.md":
		return true
	}
	return strings.HasPrefix(name, ".") || name == "__pycache__"
}

// checkStatic refuses a program that the empty image below it could not start.
func checkStatic(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("%s is not a Linux program: build a static one (CGO_ENABLED=0 "+
			"GOOS=linux), or give a folder with an executable run: %w", program, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is linked dynamically: build it with CGO_ENABLED=0, "+
				"or give a folder and --from", program)
		}
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if want, known := machines[runtime.GOARCH]; known && f.Machine != want {
		return errors.New(program + " is for another processor than " + runtime.GOARCH)
	}
	return nil
}
