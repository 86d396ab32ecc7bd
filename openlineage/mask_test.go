package openlineage_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prefect-openlineage/listener/openlineage"
)

func TestMaskURI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		uri, want string
	}{
		{"postgresql://h:5432/db?sslmode=require", "postgresql://h:5432/db?sslmode=require"},
		{"postgresql://user:hunter2@h:5432/db", "postgresql://h:5432/db"},
		{"postgresql://user@h/db", "postgresql://h/db"},
		{"https://ghp_hunter2@github.com/org/repo.git", "https://github.com/org/repo.git"},
		{"ssh://git@github.com/org/repo.git", "ssh://github.com/org/repo.git"},
		{"git+https://x-access-token:hunter2@github.com/org/repo@v1.2", "git+https://github.com/org/repo@v1.2"},
		{"postgresql://user:hunter/2@h/db", "postgresql://h/db"},
		{"postgresql://user:hunter@2@h/db", "postgresql://h/db"},
		{"postgresql://user:hunter?2@h/db", "postgresql://h/db"},
		{"postgresql://user:hunter#2@h/db", "postgresql://h/db"},
		{"postgresql://user:123/hunter2@h/db", "postgresql://h/db"},
		{"postgresql://user:12@3?hunter2@h/db", "postgresql://h/db"},
		{"postgresql://user:hunter2@h/db?email=a@b", "postgresql://h/db?email=a@b"},
		{"postgresql://h/db?email=a@b", "postgresql://h/db?email=a@b"},
		{"https://user:hunter/2@h/x", "https://h/x"},
		{"https://user:hun@#ter2@h/x", "https://h/x"},
		{"https://h:8080/@scope/pkg@1", "https://h:8080/@scope/pkg@1"},
		{"https://[::1]:8080/a@b", "https://[::1]:8080/a@b"},
		{"s3n://AKIA:hunter/2@bucket/key", "s3n://bucket/key"},
		{"abfss://container@account.dfs.core.windows.net/x", "abfss://container@account.dfs.core.windows.net/x"},
		{"abfss://user:hunter2@account.dfs.core.windows.net/x", "abfss://account.dfs.core.windows.net/x"},
		{"https://b.s3.amazonaws.com/k?X-Amz-Algorithm=A&X-Amz-Credential=hunter2&X-Amz-Date=1&X-Amz-Signature=hunter2", "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=A&X-Amz-Date=1"},
		{"https://a.blob.core.windows.net/c/b?sv=1&sig=hunter2&se=2", "https://a.blob.core.windows.net/c/b?sv=1&se=2"},
		{"foo://h/x?token=hunter2", "foo://h/x"},
		{"foo://h/x?token=hunter2&a=1", "foo://h/x?a=1"},
		{"foo://h/x?a=1&password=hunter#2;x&b=2#frag", "foo://h/x?a=1&b=2#frag"},
		{"foo://h/x#access_token=hunter2&state=1", "foo://h/x#state=1"},
		{"foo://h/x?dsn=postgresql%3A%2F%2Fu%3Ahunter2%40h", "foo://h/x"},
		{"duckdb:///md:db?motherduck_token=hunter2", "duckdb:///md:db"},
		{"jdbc:sqlserver://h:1433;databaseName=db;user=u;password=hunter2;encrypt=true", "jdbc:sqlserver://h:1433;databaseName=db;user=u;encrypt=true"},
		{"jdbc:oracle:thin:scott/hunter2@h:1521:sid", "jdbc:oracle:thin:@h:1521:sid"},
		{"mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BUID%3Du%3BPWD%3Dhunter2", "mssql+pyodbc:///"},
		{"Server=tcp:h,1433;Database=db;Uid=u;Pwd=hunter2;", "Server=tcp:h,1433;Database=db;Uid=u;Pwd=***;"},
		{"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=hunter2==;EndpointSuffix=x", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=***;EndpointSuffix=x"},
		{"/data/x.csv", "/data/x.csv"},
		{"", ""},
	}
	for _, tt := range tests {
		t.Run(tt.uri, func(t *testing.T) {
			t.Parallel()
			if got := openlineage.MaskURI(tt.uri); got != tt.want {
				t.Errorf("MaskURI(%q)\n got %q\nwant %q", tt.uri, got, tt.want)
			}
		})
	}
}

func TestMaskText(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("A1b2", 8)
	tests := []struct {
		name, text, want string
	}{
		{"plain", "Task run failed: division by zero (line 3: a=b)", "Task run failed: division by zero (line 3: a=b)"},
		{"uri", "can't reach postgresql://user:hunter2@h:5432/db, giving up", "can't reach postgresql://***@h:5432/db, giving up"},
		{"two uris", "a://u:hunter2@h b://u:hunter2@h", "a://***@h b://***@h"},
		{"uri in quotes", `OperationalError('mysql://u:hunter2@h/db')`, `OperationalError('mysql://***@h/db')`},
		{"quote in the password", `mysql://u:hun'ter2@h/db failed`, `mysql://***@h/db failed`},
		{"jdbc", "jdbc:postgresql://u:hunter2@h/db?user=u&password=hunter2&ssl=true", "jdbc:postgresql://***@h/db?user=u&password=***&ssl=true"},
		{"cut off inside the password", "could not connect to postgresql://user:hunt", "could not connect to postgresql://***"},
		{"host and port at the end", "could not connect to postgresql://h:5432", "could not connect to postgresql://h:5432"},
		{"mail address in a path", "see https://h/a@b for more", "see https://h/a@b for more"},
		{"azure container", "abfss://c@a.dfs.core.windows.net/x", "abfss://c@a.dfs.core.windows.net/x"},
		{"query", "GET https://h/x?a=1&X-Amz-Signature=hunter2&b=2 gave 403", "GET https://h/x?a=1&X-Amz-Signature=***&b=2 gave 403"},
		{"value of a harmless name", "url=https://h/x?token=hunter2", "url=https://h/x?token=***"},
		{"libpq", "host=h password=hunter2 user=u", "host=h password=*** user=u"},
		{"quoted value", `connect(password="hunter 2", user="u")`, `connect(password="***", user="u")`},
		{"bare value in a call", `connect(password=hunter2, user=u)`, `connect(password=***, user=u)`},
		{"dict", `{'user': 'u', 'password': 'hunter2'}`, `{'user': 'u', 'password': '***'}`},
		{"json", `{"api_key":"hunter2","n":1}`, `{"api_key":"***","n":1}`},
		{"escaped json", `{\"token\": \"hunter2\", \"n\": 1}`, `{\"token\": \"***\", \"n\": 1}`},
		{"escaped quote inside", `password="hun\"ter2" x`, `password="***" x`},
		{"open quote", `password="hunter2 and on`, `password="***`},
		{"environ", `os.environ["DB_PASSWORD"] = "hunter2"`, `os.environ["DB_PASSWORD"] = "***"`},
		{"prose", "password: hunter2", "password: ***"},
		{"prose that is no secret", "JSONDecodeError: unexpected token: }", "JSONDecodeError: unexpected token: }"},
		{"counts", "max_tokens=4096 token_count: 3", "max_tokens=4096 token_count: 3"},
		{"odbc", "Driver={x};Server=h;Uid=u;Pwd={hun;ter2};Encrypt=yes", "Driver={x};Server=h;Uid=u;Pwd=***;Encrypt=yes"},
		{"escaped odbc", "odbc_connect=DRIVER%3Dx%3BPWD%3Dhunter2%3BEncrypt%3Dyes", "odbc_connect=DRIVER%3Dx%3BPWD%3D***%3BEncrypt%3Dyes"},
		{"escaped signature", "uri=https%3A%2F%2Fh%3Fa%3D1%3Bsig%3Dhunter2", "uri=https%3A%2F%2Fh%3Fa%3D1%3Bsig%3D***"},
		{"assignments", "password := hunter2; secret=>hunter2", "password := ***; secret=>***"},
		{"header", "Authorization: Bearer hunter2", "Authorization: ***"},
		{"header as dict", `{'Authorization': 'Basic dTpwaHVudGVyMg=='}`, `{'Authorization': '***'}`},
		{"bearer alone", "sent Bearer " + key + " and got 401", "sent Bearer *** and got 401"},
		{"basic in prose", "basic authentication is off", "basic authentication is off"},
		{"cookie", "Cookie: session=hunter2; other=hunter2\nnext", "Cookie: ***\nnext"},
		{"jwt", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl back", "got *** back"},
		{"prefect key", "key pnu_" + key + " is wrong", "key *** is wrong"},
		{"github", "ghp_" + key, "***"},
		{"private key", "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY----- end", "*** end"},
		{"private key cut off", "x -----BEGIN PRIVATE KEY-----\nhunter2", "x ***"},
		{"invalid UTF-8 stays", "\xff a=b", "\xff a=b"},
		{"namespace in prose", "wrote to spanner://proj:inst and left", "wrote to spanner://proj:inst and left"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := openlineage.MaskText(tt.text)
			if got != tt.want {
				t.Errorf("MaskText(%q)\n got %q\nwant %q", tt.text, got, tt.want)
			}
			if strings.Contains(got, "hunter2") {
				t.Error("the secret is still there")
			}
		})
	}
}

func TestSecretKey(t *testing.T) {
	t.Parallel()
	secret := []string{"password", "Password", "DB_PASSWORD", "dbPassword", "passwd", "pwd", "PWD", "userpwd", "pass",
		"passphrase", "secret", "client_secret", "clientSecret", "api_key", "apiKey", "API-KEY", "apikey", "x-api-key",
		"token", "access_token", "accessToken", "accesstoken", "refreshToken", "motherduck_token", "AccountKey",
		"SharedAccessKey", "SharedAccessSignature", "sig", "X-Amz-Signature", "X-Amz-Credential",
		"X-Amz-Security-Token", "X-Goog-Signature", "aws_secret_access_key", "AWSAccessKeyId", "private_key",
		"credentials", "Authorization", "auth", "jwt", "password2", "sas", "connection_string", "cookie"}
	for _, name := range secret {
		if !openlineage.SecretKey(name) {
			t.Errorf("SecretKey(%q) = false", name)
		}
	}
	harmless := []string{"", "key", "keys", "user", "username", "author", "authority", "table", "max_tokens", "maxTokens",
		"token_count", "token_type", "tokenizer", "bypass", "compass", "assign", "signal", "design", "n", "date",
		"passenger_count", "password_policy", "signed_at", "monkey", "sslmode", "X-Amz-Expires", "partition_key", "__"}
	for _, name := range harmless {
		if openlineage.SecretKey(name) {
			t.Errorf("SecretKey(%q) = true", name)
		}
	}
}

func TestMaskParameter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, parameter, value, want string
	}{
		{"text", "region", `"eu"`, `eu`},
		{"number as written", "n", `1.50`, `1.50`},
		{"object", "conf", `{"b": 1, "a": [true, null]}`, `{"a":[true],"b":1}`},
		{"secret text", "api_key", `"hunter2"`, `***`},
		{"secret object", "credentials", `{"user":"u","x":"hunter2"}`, `***`},
		{"secret inside", "conf", `{"db":{"password":"hunter2","host":"h"},"list":[{"token":1}]}`, `{"db":{"host":"h","password":"***"},"list":[{"token":"***"}]}`},
		{"uri", "url", `"postgresql://u:hunter2@h/db"`, `postgresql://***@h/db`},
		{"uri inside", "urls", `["postgresql://u:hunter2@h/db"]`, `["postgresql://***@h/db"]`},
		{"no JSON", "x", `password=hunter2`, `password=***`},
		{"null", "x", `null`, `null`},
		{"NUL", "x", `"a\u0000b"`, "a\uFFFDb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := openlineage.MaskParameter(tt.parameter, []byte(tt.value)); got != tt.want {
				t.Errorf("MaskParameter(%q, %s) = %q, want %q", tt.parameter, tt.value, got, tt.want)
			}
		})
	}
}

func TestMaskJSON(t *testing.T) {
	t.Parallel()
	got, err := openlineage.MaskJSON([]byte(`{"password":{"inputFields":[]},"note":"postgresql://u:hunter2@h","n":1.0}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"n":1.0,"note":"postgresql://***@h","password":{"inputFields":[]}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if _, err := openlineage.MaskJSON([]byte(`{`)); err == nil {
		t.Error("MaskJSON took what is no JSON")
	}
}

func TestMaskSecrets(t *testing.T) {
	t.Parallel()
	got := openlineage.MaskSecrets("401 for key hunter2 (hunter2): abc", []string{"hunter2", "abc", ""})
	if want := "401 for key *** (***): abc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = openlineage.MaskSecrets("hunter2000", []string{"hunter", "hunter2000"})
	if got != "***" {
		t.Errorf("a secret that holds another was masked in part: %q", got)
	}
}

// A URI's user info never survives, however it is written, and masking twice is masking once.
func TestMaskingHidesEveryPassword(t *testing.T) {
	t.Parallel()
	databases := rapid.SampledFrom([]string{"postgresql", "mysql+pymysql", "snowflake", "mongodb", "redis"})
	others := rapid.SampledFrom([]string{"https", "s3n", "foo", "abfss", "git+ssh"})
	rapid.Check(t, func(t *rapid.T) {
		// An @ in the password and a slash behind it can't be told from a host and an @ in its path; only in a
		// database's URI is the one reading likelier.
		scheme, chars := databases.Draw(t, "database"), `[A-Za-z0-9!$*+,;:/?#.~@%_-]{0,8}`
		if rapid.Bool().Draw(t, "other") {
			scheme, chars = others.Draw(t, "scheme"), `[A-Za-z0-9!$*+,;:/?#.~%_-]{0,8}`
		}
		secret := "Q" + rapid.StringMatching(chars).Draw(t, "secret") + "Zq9"
		uri := scheme + "://user:" + secret + "@host.example.com/path"
		for _, got := range []string{openlineage.MaskURI(uri), openlineage.MaskText("error at " + uri + " again")} {
			if strings.Contains(got, "Zq9") {
				t.Fatalf("%q became %q", uri, got)
			}
		}
		checkMasking(t, uri)
	})
}

func FuzzMasking(f *testing.F) {
	for _, seed := range []string{"postgresql://u:p@h/db", "password='a", "a://b:c'd@e", "Authorization: Bearer x",
		`{\"token\": \"x\"}`, "x=%3BPWD%3Dy%3B", "a?token=b;c#d&e", "://@://@", "pwd={a;b}", "token=\"\\",
		"PW%3D\xbd%3D\xbd%%3B", "\u0130\u0130oracle:thin:a@b", "l://u\v:p@l:+/u\v\xbap@"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkMasking(t, text) })
}

func checkMasking(t fataler, text string) {
	for name, mask := range map[string]func(string) string{"MaskText": openlineage.MaskText, "MaskURI": openlineage.MaskURI} {
		once := mask(text)
		if twice := mask(once); twice != once {
			t.Fatalf("%s(%q) = %q, and of that makes %q", name, text, once, twice)
		}
	}
}
