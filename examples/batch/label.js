// For `belay batch`: runs once for each row of reviews.csv, and reads it as `job`. What it ends with is the job's result.
const schema = {
  type: "object",
  properties: {
    topic: { enum: ["delivery", "quality", "price", "service"] },
    mood: { enum: ["happy", "unhappy"] },
  },
  required: ["topic", "mood"],
  additionalProperties: false,
};
const prompt = `What is this review mostly about, and is its writer happy?\n\n${job.text}`;
const { topic, mood } = await llm_query(prompt, { tools: [], schema });
({ stars: Number(job.stars), topic, mood });
