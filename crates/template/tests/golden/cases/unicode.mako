区服 = ${global_variables["region"]}
${[global_variables["region"]]} ${"中" * 3} ${"é".encode if False else "é"} ${"%5s|" % "中"} ${"{:>4}|".format("中文")}
