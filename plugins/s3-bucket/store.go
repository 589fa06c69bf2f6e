package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/plugins/stdio"
)

type store struct{ client *minio.Client }

// connectStore waits for the server to come up, but not for wrong keys.
func connectStore(ctx context.Context, p parameters, req stdio.Request, log *slog.Logger) (
	store, error,
) {
	s, err := openStore(p, req)
	if err != nil {
		return s, err
	}
	err = wait.Retry{
		Every: 500 * time.Millisecond, For: wait.Seconds(p.ConnectSeconds), IsFinal: isFinalRefusal,
		Failed: func(attempt, limit int) {
			log.Warn("the server does not answer yet", "try", attempt, "of", limit)
		},
	}.Do(ctx, func() error {
		_, err := s.bucketExists(ctx, p.Bucket)
		return err
	})
	if err != nil {
		return s, fmt.Errorf("ask %s for bucket %s: %w", p.Endpoint, p.Bucket, err)
	}
	log.Info("connected", "endpoint", p.Endpoint)
	return s, nil
}

func openStore(p parameters, req stdio.Request) (store, error) {
	u, err := url.Parse(p.Endpoint)
	if err != nil {
		return store{}, fmt.Errorf("parameter \"endpoint\": %w", err)
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(req.Secrets["accessKey"], req.Secrets["secretKey"], ""),
		Secure: u.Scheme == "https", Region: p.Region, MaxRetries: 1,
		// Outside Amazon, buckets are a path far more often than a host name.
		BucketLookup: minio.BucketLookupAuto,
	})
	if err != nil {
		return store{}, fmt.Errorf("parameter \"endpoint\": %w", err)
	}
	return store{client}, nil
}

// isFinalRefusal reports whether retrying cannot help.
func isFinalRefusal(err error) bool {
	status := minio.ToErrorResponse(err).StatusCode
	return status >= 400 && status < 500 && status != http.StatusTooManyRequests
}

// bucketExists bounds the question: a port that swallows packets would eat the whole
// timeout.
func (s store) bucketExists(ctx context.Context, bucket string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return s.client.BucketExists(ctx, bucket)
}

func (s store) ensureBucket(ctx context.Context, p parameters) error {
	there, err := s.bucketExists(ctx, p.Bucket)
	if err == nil && !there {
		err = s.client.MakeBucket(ctx, p.Bucket, minio.MakeBucketOptions{Region: p.Region})
	}
	if err != nil {
		return fmt.Errorf("make bucket %s: %w", p.Bucket, err)
	}
	// The answer is a promise that the keys may write, so try it.
	const probe = "nullops-probe"
	_, err = s.client.PutObject(ctx, p.Bucket, probe, strings.NewReader("1"), 1,
		minio.PutObjectOptions{})
	if err == nil {
		err = s.client.RemoveObject(ctx, p.Bucket, probe, minio.RemoveObjectOptions{})
	}
	if err != nil {
		return fmt.Errorf("write to bucket %s: %w", p.Bucket, err)
	}
	return nil
}

// dropBucket empties and removes the bucket, if there is one, and returns the number of objects
// that were in it. Old versions and unfinished uploads count: with them, a server refuses to remove
// it.
func (s store) dropBucket(ctx context.Context, bucket string) (int, error) {
	there, err := s.bucketExists(ctx, bucket)
	if err != nil || !there {
		return 0, err
	}
	for upload := range s.client.ListIncompleteUploads(ctx, bucket, "", true) {
		if upload.Err != nil {
			break // not every server knows them; removing the bucket tells
		}
		if err := s.client.RemoveIncompleteUpload(ctx, bucket, upload.Key); err != nil {
			return 0, fmt.Errorf("stop an upload to bucket %s: %w", bucket, err)
		}
	}
	removed, err := s.emptyBucket(ctx, bucket)
	if err != nil {
		return removed, fmt.Errorf("empty bucket %s: %w", bucket, err)
	}
	err = s.client.RemoveBucket(ctx, bucket)
	if err != nil && minio.ToErrorResponse(err).StatusCode != http.StatusNotFound {
		return removed, fmt.Errorf("remove bucket %s: %w", bucket, err)
	}
	return removed, nil
}

// maxPasses bounds how often a bucket is listed again.
const maxPasses = 10_000

// emptyBucket repeats listings until one is empty: on several servers a listing skips
// objects while others are being removed, and some list no versions.
func (s store) emptyBucket(ctx context.Context, bucket string) (int, error) {
	removed := 0
	for range maxPasses {
		old, err := s.removeListed(ctx, bucket, true)
		if err != nil {
			return removed + old, err
		}
		rest, err := s.removeListed(ctx, bucket, false)
		removed += old + rest
		if err != nil || old+rest == 0 {
			return removed, err
		}
	}
	return removed, errors.New("it fills up faster than it can be emptied")
}

// removeListed removes what one listing shows, one object at a time. Deleting many with
// one request is faster, but servers differ in how they report what stayed.
func (s store) removeListed(ctx context.Context, bucket string, versions bool) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing too
	removed := 0
	options := minio.ListObjectsOptions{Recursive: true, WithVersions: versions}
	for object := range s.client.ListObjects(ctx, bucket, options) {
		if object.Err != nil {
			return removed, object.Err
		}
		err := s.client.RemoveObject(ctx, bucket, object.Key,
			minio.RemoveObjectOptions{VersionID: object.VersionID})
		if err != nil {
			return removed, fmt.Errorf("object %s: %w", object.Key, err)
		}
		removed++
	}
	return removed, ctx.Err()
}
