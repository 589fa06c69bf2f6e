package main_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/nullops/nullops/plugins/stdio"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

const adminPassword = "the-admins-own"

func newServer(t *testing.T) (port string, admin *redis.Client) {
	t.Helper()
	at := stdiotest.Redis(t, "127.0.0.1", adminPassword)
	return at.Port, dialRedis(t, at.Port, "default", adminPassword)
}

func dialRedis(t *testing.T, port, user, password string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, Username: user,
		Password: password, DisableIdentity: true, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSamples(t *testing.T) {
	port, admin := newServer(t)
	program := stdiotest.Build(t)
	stdiotest.Samples(t, program, "", map[string]string{
		"PORT": port, "PASSWORD": adminPassword, "CLOSED": stdiotest.FreePort(t),
	})
	expectNothing(t, admin, "shop", "shop:")
}

// The account reaches its own keys and nobody else's, cannot touch the server,
// and goes with all its keys; what is not its own stays.
func TestPlugin_AnAccountOfItsOwn(t *testing.T) {
	port, admin := newServer(t)
	program, ctx := stdiotest.Build(t), t.Context()
	if err := admin.MSet(ctx, "shopping:1", "theirs", "other", "theirs").Err(); err != nil {
		t.Fatal(err)
	}
	first := callPlugin(t, program, port, stdio.ActionCreate)
	own := dialRedis(t, port, "shop", first["password"].(string))
	for i := range 2500 {
		if err := own.Set(ctx, "shop:"+strconv.Itoa(i), i, 0).Err(); err != nil {
			t.Fatalf("the account may not write its own keys: %v", err)
		}
	}
	for what, err := range map[string]error{
		"read other keys":      own.Get(ctx, "other").Err(),
		"read a similar name":  own.Get(ctx, "shopping:1").Err(),
		"empty the server":     own.FlushAll(ctx).Err(),
		"change the settings":  own.ConfigSet(ctx, "maxmemory", "1").Err(),
		"make accounts":        own.ACLSetUser(ctx, "mine", "on").Err(),
		"listen to all":        own.Publish(ctx, "other", "x").Err(),
		"sign in as the admin": dialRedis(t, port, "default", "guess").Ping(ctx).Err(),
	} {
		if err == nil || err == redis.Nil {
			t.Errorf("the account can %s: %v", what, err)
		}
	}
	second := callPlugin(t, program, port, stdio.ActionCreate)
	if second["password"] == first["password"] || len(second["password"].(string)) < 20 {
		t.Error("the second create gave no new password of at least 20 letters")
	}
	if dialRedis(t, port, "shop", first["password"].(string)).Ping(ctx).Err() == nil {
		t.Error("the first password still works")
	}
	callPlugin(t, program, port, stdio.ActionDelete)
	expectNothing(t, admin, "shop", "shop:")
	if n, err := admin.Exists(ctx, "shopping:1", "other").Result(); err != nil || n != 2 {
		t.Errorf("delete took keys that are not its own: %d left, %v", n, err)
	}
	callPlugin(t, program, port, stdio.ActionDelete)
}

func TestCheck_FindsAnAccountThatIsGone(t *testing.T) {
	port, admin := newServer(t)
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	stdiotest.Check(t, stdiotest.Build(t), stdio.Request{
		Parameters: map[string]any{"host": "127.0.0.1", "port": number, "user": "shop"},
		Secrets:    map[string]string{"adminPassword": adminPassword},
	}, func() {
		if err := admin.ACLDelUser(t.Context(), "shop").Err(); err != nil {
			t.Fatal(err)
		}
	})
}

func callPlugin(t *testing.T, program, port string, action stdio.Action) map[string]any {
	t.Helper()
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	request, err := json.Marshal(stdio.Request{Action: action,
		Parameters: map[string]any{"host": "127.0.0.1", "port": number, "user": "shop"},
		Secrets:    map[string]string{"adminPassword": adminPassword}})
	if err != nil {
		t.Fatal(err)
	}
	got := stdiotest.Run(t.Context(), t, program, request)
	resp, err := stdio.ParseResponse(got.Stdout)
	if err != nil || !resp.Success {
		t.Fatalf("%s: %v %s\n%s", action, err, got.Stdout, got.Stderr)
	}
	password, _ := resp.Outputs["password"].(string)
	for _, secret := range []string{adminPassword, password} {
		if secret != "" && strings.Contains(string(got.Stderr), secret) {
			t.Errorf("the log holds a password:\n%s", got.Stderr)
		}
	}
	return resp.Outputs
}

func expectNothing(t *testing.T, admin *redis.Client, user, prefix string) {
	t.Helper()
	users, err := admin.Do(t.Context(), "ACL", "USERS").StringSlice()
	if err != nil || len(users) != 1 {
		t.Errorf("accounts are %v, %v", users, err)
	}
	keys, err := admin.Keys(t.Context(), prefix+"*").Result()
	if err != nil || len(keys) != 0 {
		t.Errorf("delete of %s left %d keys, %v", user, len(keys), err)
	}
}
