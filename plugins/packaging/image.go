package packaging

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Nobody is the user static images run as.
const Nobody = "65532:65532"

// Plan is an image before it is put together.
type Plan struct {
	// From is the image below; nil starts with nothing.
	From v1.Image
	// Layers go on top, the one that changes least first.
	Layers []Layer
	// Config is the image's configuration for an engine.
	Config v1.Config
	// Created is a part of the digest: set a fixed time.
	Created time.Time
	// By is shown in the image's history.
	By string
	// Architecture is that of the programs in it; without it, this machine's.
	Architecture string
}

// Assemble builds the image. It does not depend on this machine or the clock.
func Assemble(p Plan) (v1.Image, error) {
	image := p.From
	if image == nil {
		image = mutate.MediaType(empty.Image, types.OCIManifestSchema1)
		image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	}
	history := v1.History{Created: v1.Time{Time: p.Created}, CreatedBy: p.By}
	for _, l := range p.Layers {
		var err error
		image, err = mutate.Append(image, mutate.Addendum{Layer: l, History: history})
		if err != nil {
			return nil, fmt.Errorf("add a layer: %w", err)
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the image's configuration: %w", err)
	}
	config = config.DeepCopy()
	if p.From == nil {
		config.OS, config.Architecture = "linux", cmp.Or(p.Architecture, runtime.GOARCH)
	}
	config.Created = v1.Time{Time: p.Created}
	config.Config = p.Config
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("describe the image: %w", err)
	}
	return image, nil
}

// StaticBase is all a static program needs: names for user ids, a /tmp, and
// this machine's certificate authorities for checks of https addresses.
func StaticBase() ([]File, error) {
	files := []File{
		{Path: "tmp", Dir: true, Mode: 0o1777},
		{Path: "etc/passwd", Data: []byte("root:x:0:0:root:/:/sbin/nologin\n" +
			"nobody:x:65532:65532:nobody:/:/sbin/nologin\n")},
		{Path: "etc/group", Data: []byte("root:x:0:\nnobody:x:65532:\n")},
	}
	const authorities = "/etc/ssl/certs/ca-certificates.crt"
	switch _, err := os.Stat(authorities); {
	case err == nil:
		files = append(files, File{Path: strings.TrimPrefix(authorities, "/"), From: authorities})
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the certificate authorities: %w", err)
	}
	return files, nil
}
