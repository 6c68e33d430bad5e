// todo: expire tokens
export class LoginService {
  async verify_token(token) {
    if (token === "") throw new Error("empty token");
    return token.length > 8;
  }
}
