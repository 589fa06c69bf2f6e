package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/nullops/nullops/controlplane"
)

// partSize is how much of a backup is held in memory on its way. S3 takes 10,000 parts, so that a
// backup may have 156 GiB.
const partSize = 16 << 20

// S3Access is how a bucket is reached.
type S3Access struct {
	// Endpoint is the service's URL, such as https://s3.eu-central-1.amazonaws.com.
	Endpoint, Region, Key string
	Secret                controlplane.Plain
}

// bucket keeps backups in a bucket of an S3 service. The bucket exists: making it is the
// operator's choice, with its place, versions and lock.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

var _ Target = (*bucket)(nil)

func newBucket(where *url.URL, a S3Access) (Target, error) {
	u, err := url.Parse(a.Endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the S3 service's address must be a URL such as https://s3.example.org")
	case where.Host == "":
		return nil, errors.New("it names no bucket: write s3://BUCKET/PREFIX")
	case a.Key == "" || a.Secret.Reveal() == "":
		return nil, errors.New("an S3 bucket needs an access key and its secret")
	}
	client, err := minio.New(u.Host, &minio.Options{Region: a.Region, Secure: u.Scheme == "https",
		Creds: credentials.NewStaticV4(a.Key, a.Secret.Reveal(), "")})
	if err != nil {
		return nil, fmt.Errorf("the S3 service's address: %w", err)
	}
	prefix := strings.Trim(where.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{client: client, name: where.Host, prefix: prefix}, nil
}

func (b *bucket) String() string { return "s3://" + b.name + "/" + b.prefix }

// Write implements Target. S3 shows an object once all of its parts are there.
func (b *bucket) Write(
	ctx context.Context, name string, write func(io.Writer) error,
) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, out := io.Pipe()
	go func() { _ = out.CloseWithError(write(out)) }()
	info, err := b.client.PutObject(ctx, b.name, b.prefix+name, in, -1,
		minio.PutObjectOptions{PartSize: partSize, ContentType: "application/octet-stream"})
	// A writer that still writes must end: nobody reads any more.
	_ = in.CloseWithError(err)
	if err != nil {
		return 0, fmt.Errorf("write the backup to %s: %w", b, err)
	}
	return info.Size, nil
}

// Open implements Target.
func (b *bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return b.client.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
}

// List implements Target.
func (b *bucket) List(ctx context.Context) (names []string, err error) {
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix}) {
		if o.Err != nil {
			return nil, fmt.Errorf("list %s: %w", b, o.Err)
		}
		names = append(names, strings.TrimPrefix(o.Key, b.prefix))
	}
	return names, nil
}

// Delete implements Target.
func (b *bucket) Delete(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{})
}
