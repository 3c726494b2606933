# Uploads each case of $CASES with curl.
version=$(curl --version | sed -n '1s/^curl \([^ ]*\).*/\1/p')
printf '%%PDF-1.7' >loa.pdf
index=0
while IFS= read -r -d '' name && IFS= read -r -d '' text; do
  escaped=${name//\\/\\\\}
  escaped=${escaped//\"/\\\"}
  form=(--form-string "data[name]=LOA" -F "data[file]=@loa.pdf;filename=\"$escaped\"")
  [ -z "$text" ] || form+=(--form-string "data[notes]=$text")
  curl --silent --output /dev/null "${form[@]}" "$TO/curl/$version/$index"
  index=$((index + 1))
done <"$CASES"
