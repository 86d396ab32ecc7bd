"""An OAuth 2 server on the loopback interface: the client credentials grant of oauthlib, with tokens that end soon.

    oauth.py PORT SECONDS

POST /token gives a token that lives so many seconds. /check answers 204 to one that lives and 401 to any other, which
is what nginx's auth_request wants. POST /revoke ends all tokens at once. GET /issued says how many there were.
"""

import base64
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from oauthlib.common import extract_params
from oauthlib.oauth2 import BackendApplicationServer, RequestValidator

CLIENT, SECRET = "lístener:1", "p@ss word%"  # what has to be escaped in a Basic header is in it


class Client:
    client_id = CLIENT


class Validator(RequestValidator):
    def __init__(self):
        self.ends = {}  # by token
        self.issued = 0

    def authenticate_client(self, request, *args, **kwargs):
        given = (request.client_id, request.client_secret)
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if scheme == "Basic":
            user, _, password = base64.b64decode(value).decode().partition(":")
            given = (unquote(user.replace("+", " ")), unquote(password.replace("+", " ")))
        request.client = Client()
        return given == (CLIENT, SECRET)

    def validate_grant_type(self, client_id, grant_type, *args, **kwargs):
        return grant_type == "client_credentials"

    def get_default_scopes(self, *args, **kwargs):
        return []

    def validate_scopes(self, client_id, scopes, *args, **kwargs):
        return scopes == ["lineage.write"]

    def save_bearer_token(self, token, request, *args, **kwargs):
        self.issued += 1
        self.ends[token["access_token"]] = time.monotonic() + token["expires_in"]

    def validate_bearer_token(self, token, scopes, request):
        return self.ends.get(token, 0) > time.monotonic()


def handler(server, validator):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status, headers=None, body=""):
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            if self.path == "/revoke":
                validator.ends.clear()
                return self.answer(204)
            headers = dict(self.headers.items())
            headers, body, status = server.create_token_response(self.path, "POST", extract_params(body), headers)
            self.answer(status, headers, body)

        def do_GET(self):
            if self.path == "/issued":
                return self.answer(200, body=str(validator.issued))
            valid, _ = server.verify_request(self.path, "GET", None, dict(self.headers.items()), [])
            self.answer(204 if valid else 401)

        def log_message(self, *args):
            pass

    return Handler


def main():
    port, life = int(sys.argv[1]), int(sys.argv[2])
    validator = Validator()
    server = BackendApplicationServer(validator, token_expires_in=life)
    ThreadingHTTPServer(("127.0.0.1", port), handler(server, validator)).serve_forever()


if __name__ == "__main__":
    main()
