// Package registry asks container registries for tags and digests.
//
// Registries are not trusted: they may be down, slow, wrong or hostile. So each
// request has a deadline, answers have size limits, credentials are sent only to the
// registry itself and the token service of its domain, no address of this machine or
// its network link is dialed unless the registry was configured there, and plain HTTP
// is only used on loopback. Each way of failing is a *controlplane.Error with one
// clear sentence.
//
// Tag lists are cached, and recently requested ones are refreshed in the background.
// When a registry does not answer in time the cached list is returned, marked stale.
// If a registry has a vendor API that returns more with fewer requests, that is used
// first.
package registry

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/singleflight"

	"github.com/nullops/nullops/controlplane"
)

// Limits on what one registry may cost us.
const (
	// answerTime is for one question with all its requests.
	answerTime = 10 * time.Second
	// maxBody is per response, after decompression.
	maxBody = 4 << 20
	// fresh is how long a tag list is given without asking again: long enough
	// for typing into a search field, short enough to see a push at once.
	fresh = 5 * time.Second
	// soon is how long a cached list is returned while it is read again in the background.
	soon = time.Minute
	// patience is how long a person waits when there is an older list.
	patience = 2 * time.Second
	// meaningFor is how long a tag's digest is cached for the list; deployments always ask
	// the registry. Up to meaningMost the cached digest is returned while it is read
	// again.
	meaningFor  = 30 * time.Second
	meaningMost = 10 * time.Minute
	// maxCached repositories and images are remembered.
	maxCached = 2000
)

// Config is what a client needs.
type Config struct {
	// Own are the addresses of the control plane and its database, which no
	// registry has; nil are none.
	Own func(netip.AddrPort) bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// AnswerTime replaces the ten seconds of one question, for tests.
	AnswerTime time.Duration
	// Called hears of each request: the status of its answer, 0 for none. Nil hears of nothing.
	Called func(ctx context.Context, status int, took time.Duration)
}

// Client asks registries. It is safe for concurrent use. Close it at the end.
type Client struct {
	own        func(netip.AddrPort) bool
	called     func(ctx context.Context, status int, took time.Duration)
	now        func() time.Time
	answerTime time.Duration
	flights    singleflight.Group
	ways       map[string]vendorAPI
	ctx        context.Context
	stop       context.CancelFunc
	running    sync.WaitGroup

	mu     sync.Mutex
	tags   map[string]TagList
	images map[string]Image
	// wanted holds what people looked at lately, and when.
	wanted map[string]requestedList
	// kinds has, by host, which vendor a registry is.
	kinds map[string]vendorKind
	// meanings holds what tags meant lately.
	meanings map[string]tagMeaning
	// arches holds, by digest, what images are built for.
	arches map[string][]string
	// configs holds, by digest, what images say about how they run.
	configs map[string]ImageConfig
	// pauses has, by account, until when a registry must not be asked (429).
	pauses map[pauseKey]time.Time
}

// New makes a client.
func New(c Config) *Client {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.AnswerTime == 0 {
		c.AnswerTime = answerTime
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Client{
		own: c.Own, called: c.Called, now: c.Now, answerTime: c.AnswerTime, ctx: ctx, stop: stop,
		ways: publicWays(), wanted: map[string]requestedList{}, kinds: map[string]vendorKind{},
		tags: map[string]TagList{}, images: map[string]Image{}, pauses: map[pauseKey]time.Time{},
		meanings: map[string]tagMeaning{}, arches: map[string][]string{},
		configs: map[string]ImageConfig{},
	}
}

// Close ends what still runs and waits for it.
func (c *Client) Close() {
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.running.Wait()
}

// beginTask counts what runs beside its asker; after Close nothing begins.
func (c *Client) beginTask() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.running.Add(1)
	return true
}

// Source is a repository of a registry, with what opens it.
type Source struct {
	Registry    controlplane.Registry
	Credentials controlplane.Credentials
	Repository  string
}

// cacheKey distinguishes cached answers. Credentials are part of it, because another
// password may see other tags; so is the set of trusted authorities.
func (s Source) cacheKey() string {
	return s.Registry.Host + "\x00" + credentialsKey(s.Credentials) + "\x00" + s.Registry.CA +
		"\x00" + s.Repository
}

// TagList is the tags of a repository.
type TagList struct {
	Tags []string
	// Sorted is set when the highest version comes first.
	Sorted bool
	// Known is what the registry returned besides the names.
	Known  map[string]Image
	ReadAt time.Time
	// Stale is set when the registry did not answer and this is older.
	Stale  bool
	Reason string
}

// Image is what a tag means.
type Image struct {
	Tag    string
	Digest string
	// Size is of the compressed layers, in bytes.
	Size      int64
	CreatedAt time.Time
	// Commit, Branch and Builder come from the image's labels; empty if it has
	// none.
	Commit  string
	Branch  string
	Builder string
}

// conversation is one conversation with one registry.
type conversation struct {
	repo    name.Repository
	options []remote.Option
	guard   *registryGuard
	cancel  context.CancelFunc
}

// baseURL is where a registry is asked. The library's scheme is for insecure ones
// only: it would ask every private address in plain.
func (s Source) baseURL(r name.Registry) *url.URL {
	u := &url.URL{Scheme: "https", Host: r.RegistryStr()}
	if s.Registry.Insecure {
		u.Scheme = r.Scheme()
	}
	return u
}

// startConversation prepares a conversation; call cancel at its end.
func (c *Client) startConversation(ctx context.Context, s Source) (*conversation, error) {
	if err := CheckHost(s.Registry.Host, s.Registry.Insecure); err != nil {
		return nil, err
	}
	options := []name.Option{name.StrictValidation}
	if s.Registry.Insecure {
		options = append(options, name.Insecure)
	}
	repo, err := name.NewRepository(s.Registry.Host+"/"+s.Repository, options...)
	if err != nil {
		return nil, controlplane.NewInvalidError("image", "image_invalid",
			fmt.Sprintf("%q is not a repository of a registry", s.Repository),
			"Write it as in an image reference, without host and tag, such as shop/api.")
	}
	if err := c.checkPaused(s.Registry.Host, s.Credentials); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.answerTime)
	g := newGuard(s.Registry, repo.RegistryStr(), c.own)
	g.called = c.called
	return &conversation{repo: repo, guard: g, cancel: func() { cancel(); g.close() },
		options: []remote.Option{
			remote.WithContext(
				ctx,
			), remote.WithTransport(g), remote.WithAuth(newAuthenticator(s.Credentials)),
			remote.WithJobs(2),
			// Asking again is for the person, or for the next question.
			remote.WithRetryBackoff(remote.Backoff{Steps: 1, Duration: time.Millisecond}),
			remote.WithRetryStatusCodes(),
		}}, nil
}

func newAuthenticator(c controlplane.Credentials) authn.Authenticator {
	if c.Username == "" && c.Password.IsEmpty() {
		return authn.Anonymous
	}
	return authn.FromConfig(authn.AuthConfig{
		Username: c.Username, Password: c.Password.Reveal(),
	})
}
