import { expect, test } from "vitest";
import { openModels } from "../../../src/models/models.ts";
import { isLocalServer } from "../../../src/models/server-window.ts";

test.each([
  ["any", "http://127.0.0.1:8080/v1"],
  ["any", "http://localhost:11434/v1"],
  ["any", "http://[::1]:8080/v1"],
  ["any", "http://192.168.1.20:8080/v1"],
  ["any", "http://10.1.2.3/v1"],
  ["any", "http://172.31.0.1/v1"],
  ["any", "http://[fd00::1]/v1"],
  ["any", "http://llama:8080/v1"],
  ["any", "http://gpu.local:8080/v1"],
  ["any", "http://nas.home.arpa:8080/v1"],
  ["local", "https://models.example.com/v1"],
  ["ollama", undefined],
  ["llama.cpp", undefined],
])("%s at %s is local", (provider, url) => {
  expect(isLocalServer(provider, url)).toBe(true);
});

test.each([
  ["openai", undefined],
  ["any", "https://api.openai.com/v1"],
  ["any", "http://172.32.0.1/v1"],
  ["any", "http://8.8.8.8/v1"],
  ["any", "http://[2001:db8::1]/v1"],
  ["any", "not an address"],
])("%s at %s is not", (provider, url) => {
  expect(isLocalServer(provider, url)).toBe(false);
});

test("a model says of itself where its server is", () => {
  const at = (baseUrl: string) => openModels({ model: "any/m", baseUrl, env: {} }).resolve(null);
  expect(at("http://127.0.0.1:8080/v1")).toMatchObject({ isLocal: true, server: "http://127.0.0.1:8080/v1" });
  expect(at("https://a.example/v1")).toMatchObject({ isLocal: false, server: "https://a.example/v1" });
});
