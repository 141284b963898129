"""Questions to language models, by servers that speak OpenAI's protocol: vLLM, SGLang, llama.cpp, TGI, or a provider.

    server         which server and model, and what may be spent on it
    reach          whether a server is there, and has the model
    questions      a question, and the key of its answer
    answer_log     answers, each written as it arrives and never asked for again
    congestion     how many questions are in flight
    kept_answers   where the answers of the unit at work are
    trial          what asking will take, by a part of the questions of a sample
    client         asks many questions at a time
    schema         what an answer in JSON must hold
    prompts        what to make of a document
    pieces         documents cut to what a model can take
    faithful       whether numbers and names of a document are still there

Nothing here is imported by runs that ask no model.
"""
